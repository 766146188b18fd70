#!/usr/bin/env bash
# Check of a node's hardware against the design; rendered by clusterwright, do not edit.
# Writes metrics for the node exporter; exit code 1 and one line for each fault when something is missing.
set -uo pipefail

. /etc/default/node-check
faults=()

gpus=0
if [ "$GPU_VENDOR" = NVIDIA ]; then
  gpus=$(timeout 20 nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null | grep -c GPU-)
elif [ "$GPU_VENDOR" = AMD ]; then
  gpus=$(timeout 20 rocm-smi --showuniqueid --csv 2>/dev/null | grep -c '^card')
fi
[ "$gpus" -eq "$EXPECT_GPUS" ] || faults+=("gpus: $gpus of $EXPECT_GPUS")

nics=0
for rate in /sys/class/infiniband/*/ports/1/rate; do
  [ -e "$rate" ] || continue
  [ "$(cut -d' ' -f1 "$rate")" = "$NIC_RATE_GBPS" ] && grep -q ACTIVE "${rate%rate}state" && nics=$((nics + 1))
done
[ "$nics" -ge "$EXPECT_NICS" ] || faults+=("nics: $nics of $EXPECT_NICS are up at $NIC_RATE_GBPS Gb/s")

memory=$(awk '/^MemTotal:/ {print int($2 / 1024)}' /proc/meminfo)
[ "$memory" -ge "$EXPECT_MEMORY_MIB" ] || faults+=("memory: $memory of $EXPECT_MEMORY_MIB MiB")

for mount in "$LOCAL_MOUNT" "$SHARED_MOUNT"; do
  [ -z "$mount" ] || timeout 10 mountpoint -q "$mount" || faults+=("mount: $mount is away")
done

{
  echo '# HELP node_check_ok Whether the node holds what the design says.'
  echo '# TYPE node_check_ok gauge'
  echo "node_check_ok $((${#faults[@]} == 0))"
  echo '# TYPE node_check_gpus gauge'
  echo "node_check_gpus $gpus"
  echo '# TYPE node_check_nics gauge'
  echo "node_check_nics $nics"
} >"$TEXTFILE.new" && mv "$TEXTFILE.new" "$TEXTFILE"
[ "${#faults[@]}" -eq 0 ] && exit 0
printf 'node-check: %s\n' "${faults[@]}" >&2
exit 1
