#!/usr/bin/env bash
# One RAID 0 with XFS over the unused NVMe drives; rendered by clusterwright, do not edit.
# RAID 0: the cache holds copies only, a lost drive costs a node's cache and never data.
# Usage: nvme-cache ARRAY LEAST_BYTES xfs|lvm
# lvm: a tenth is the file system (images of containers), the rest of the volume group 'nvme' is given out to pods.
set -euo pipefail

array=$1
least=$2
layout=$3
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
volume=$array
if [ "$layout" = lvm ]; then
  pvcreate --quiet "$array"
  vgcreate --quiet nvme "$array"
  lvcreate --quiet --yes --name local --extents 10%VG nvme
  volume=/dev/nvme/local
fi
mkfs.xfs -q -f -L local -m crc=1,reflink=1 "$volume"
echo "created $array over ${#drives[@]} drives"
