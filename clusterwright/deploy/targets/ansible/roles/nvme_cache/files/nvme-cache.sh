#!/usr/bin/env bash
# One RAID 0 with XFS over the unused NVMe drives; rendered by clusterwright, do not edit.
# RAID 0: the cache holds copies only, a lost drive costs a node's cache and never data.
# Usage: nvme-cache ARRAY LEAST_BYTES
set -euo pipefail

array=$1
least=$2
if blkid -L local >/dev/null; then
  echo "file system 'local' exists"
  exit 0
fi
drives=()
for device in /dev/nvme*n1; do
  [ -b "$device" ] || continue
  # A drive with a partition, a mount, a signature or a holder belongs to somebody.
  if [ -n "$(lsblk -nro MOUNTPOINT,FSTYPE "$device" | tr -d ' \n')" ] || [ "$(lsblk -nro NAME "$device" | wc -l)" -ne 1 ]; then
    continue
  fi
  drives+=("$device")
done
if [ "${#drives[@]}" -eq 0 ]; then
  echo "nvme-cache: no unused NVMe drive" >&2
  exit 1
fi
total=0
for device in "${drives[@]}"; do
  total=$((total + $(blockdev --getsize64 "$device")))
done
if [ "$total" -lt "$least" ]; then
  echo "nvme-cache: ${#drives[@]} drives hold $total bytes, the design says $least" >&2
  exit 1
fi
mdadm --create "$array" --run --level=0 --chunk=512K --raid-devices="${#drives[@]}" --force "${drives[@]}"
mkfs.xfs -q -f -L local -m crc=1,reflink=1 "$array"
echo "created $array over ${#drives[@]} drives"
