"""The options: what the spec pins is a single value, what it leaves open is an axis, and pins are lifted one by one."""

from clusterwright.design.candidates import enumerate_candidates, feasible_fabrics, servers_for

PINNED = "compute: {accelerators: [h100-sxm-80gb], gpus: 64, server: dgx-h100, nodes_per_rack: 4}\n"
PINNED += "fabric: {technology: infiniband-ndr}\nfinance: {procurement: [buy]}"


def test_a_spec_that_pins_everything_leaves_one_option_and_its_lifts(ask, catalog) -> None:
    options = enumerate_candidates(ask(PINNED), catalog)
    assert [o.name for o in options if not o.lifts] == ["64 x h100-sxm-80gb in dgx-h100, 4 a rack, infiniband-ndr, buy"]
    lifted = {o.lifts for o in options if o.lifts}
    assert ("compute.gpus",) in lifted
    assert ("compute.accelerators",) in lifted
    assert ("compute.nodes_per_rack",) in lifted
    assert all(o.gpus == 64 for o in options if o.lifts == ("compute.accelerators",))
    assert all(o.accelerator == "h100-sxm-80gb" for o in options if o.lifts == ("compute.gpus",))


def test_no_option_appears_twice(ask, catalog) -> None:
    options = enumerate_candidates(ask("compute: {accelerators: [h100-sxm-80gb], gpus: 64}"), catalog)
    assert len({o.name for o in options}) == len(options)


def test_what_is_left_open_is_an_axis(ask, catalog) -> None:
    options = enumerate_candidates(ask(), catalog)
    assert all(not o.lifts for o in options)
    assert len({o.accelerator for o in options}) >= 8
    assert len({o.gpus for o in options if o.accelerator == "h100-sxm-80gb"}) >= 3
    assert len({o.nodes_per_rack for o in options if o.accelerator == "h100-sxm-80gb"}) >= 3
    assert {o.procurement for o in options} == {"buy", "rent", "colocate"}


def test_counts_surround_what_the_deadline_needs(ask, catalog) -> None:
    # 6 x 8.03e9 x 100e9 = 4.8e21 FLOP; 2.592e6 s x 989e12 x 0.35 = 8.97e20 per GPU: 5.4 GPUs, so 8 is among them
    options = enumerate_candidates(ask("compute: {accelerators: [h100-sxm-80gb]}"), catalog)
    counts = {o.gpus for o in options if not o.lifts}
    assert 8 in counts
    assert max(counts) <= 32


def test_only_whole_systems_are_counted(ask, catalog) -> None:
    spec = ask("compute: {accelerators: [gb200-nvl72]}")
    options = [o for o in enumerate_candidates(spec, catalog) if not o.lifts]
    assert {o.gpus % 72 for o in options} == {0}
    assert {o.nodes_per_rack for o in options} == {18}


def test_rented_options_do_not_repeat_servers_and_racks(ask, catalog) -> None:
    spec = ask("compute: {accelerators: [h100-sxm-80gb], gpus: 64}\nfinance: {procurement: [rent]}")
    options = [o for o in enumerate_candidates(spec, catalog) if not o.lifts]
    assert len({o.fabric for o in options}) == len(options)


def test_nobody_rents_what_is_not_offered(ask, catalog) -> None:
    options = enumerate_candidates(ask("compute: {accelerators: [h20-96gb], gpus: 64}"), catalog)
    assert {o.procurement for o in options if not o.lifts} == {"buy", "colocate"}


def test_links_run_at_the_rate_of_the_cards(ask, catalog) -> None:
    spec = ask()
    for server in servers_for(spec, catalog):
        for name in feasible_fabrics(spec, catalog, server):
            assert catalog.get("fabric", name)["link_rate_bytes_s"] == server["nic_rate_bytes_s"]


def test_only_parts_with_the_precision_are_weighed(ask, catalog) -> None:
    spec = ask("compute: {accelerators: [a100-sxm-80gb, h100-sxm-80gb]}", deadline="30 d, precision: fp8")
    assert {s.text("accelerator") for s in servers_for(spec, catalog)} == {"h100-sxm-80gb"}
