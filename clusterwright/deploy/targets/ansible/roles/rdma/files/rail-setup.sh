#!/usr/bin/env bash
# Addresses and tuning of the rails; rendered by clusterwright, do not edit.
# Rails are the RDMA devices of the compute network's speed in the order of their PCI addresses, which is the order of
# the cables: device k is rail k.
set -euo pipefail

. /etc/default/rails

rate() { # Gb/s of an RDMA device, 0 while its link is down
  local said
  said=$(cat "/sys/class/infiniband/$1/ports/1/rate" 2>/dev/null || true)
  echo "${said%% *}"
}

devices() {
  local path
  for path in /sys/class/infiniband/*; do
    [ -e "$path" ] || continue
    [ "$(cat "$path/ports/1/link_layer")" = "$RAIL_LINK" ] || continue
    [ "$(rate "${path##*/}")" = "$RAIL_RATE_GBPS" ] || continue
    echo "$(basename "$(readlink -f "$path/device")") ${path##*/}"
  done | sort | cut -d' ' -f2
}

dotted() { # a number as an IPv4 address
  echo "$(($1 >> 24)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"
}

mapfile -t found < <(devices)
read -r -a addresses <<<"$RAIL_ADDRESSES"
if [ "${#found[@]}" -ne "$RAIL_COUNT" ]; then
  echo "rail-setup: ${#found[@]} of $RAIL_COUNT rails are up at $RAIL_RATE_GBPS Gb/s: ${found[*]}" >&2
  exit 1
fi
classes=(0 0 0 0 0 0 0 0)
classes[RAIL_PRIORITY]=1
lossless=$(IFS=,; echo "${classes[*]}")
for i in "${!found[@]}"; do
  device=${found[$i]}
  interface=$(basename "$(find "/sys/class/infiniband/$device/device/net" -mindepth 1 -maxdepth 1 | head -n 1)")
  ip link set dev "$interface" up
  ip address replace "$(dotted "${addresses[$i]}")/$RAIL_PREFIX" dev "$interface"
  if [ "$RAIL_LINK" = Ethernet ]; then
    ip link set dev "$interface" mtu "$RAIL_MTU"
    # Lossless class for RDMA with the marking that the switches expect; congestion control by ECN.
    mlnx_qos -i "$interface" --trust dscp >/dev/null
    mlnx_qos -i "$interface" --pfc "$lossless" >/dev/null
    cma_roce_tos -d "$device" -t "$((RAIL_DSCP << 2))" >/dev/null
    echo "$((RAIL_DSCP << 2))" >"/sys/class/infiniband/$device/tc/1/traffic_class"
    # Every rail answers for its own address only.
    sysctl -qw "net.ipv4.conf.$interface.arp_announce=2" "net.ipv4.conf.$interface.arp_ignore=1"
    sysctl -qw "net.ipv4.conf.$interface.rp_filter=2"
  fi
  # Relaxed ordering and long reads towards GPU memory.
  pci=$(basename "$(readlink -f "/sys/class/infiniband/$device/device")")
  word=$(setpci -s "$pci" CAP_EXP+8.w)
  setpci -s "$pci" CAP_EXP+8.w="$(printf '%x' $((0x$word & ~0x7000 | 0x5000)))"
done
echo "rail-setup: $RAIL_COUNT rails: ${found[*]}"
