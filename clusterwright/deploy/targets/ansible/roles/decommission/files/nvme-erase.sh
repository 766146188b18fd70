#!/usr/bin/env bash
# Erase the NVMe drives that hold no mounted file system; rendered by clusterwright, do not edit.
# Sanitize by the drive where it can (crypto, then block erase), else a secure format; one line for each drive.
set -euo pipefail

failed=0
for device in /dev/nvme*n1; do
  [ -b "$device" ] || continue
  if [ -n "$(lsblk -nro MOUNTPOINT "$device" | tr -d ' \n')" ]; then
    echo "$device kept: it is mounted"
    continue
  fi
  controller=${device%n1}
  wipefs --all --quiet "$device"
  serial=$(nvme id-ctrl "$controller" | awk '/^sn / {print $3}')
  if nvme sanitize "$controller" --sanact=4 2>/dev/null || nvme sanitize "$controller" --sanact=2 2>/dev/null; then
    # Bits 0-2 of the status: 2 is under way, 1 and 4 are done.
    while status=$(nvme sanitize-log "$controller" | awk -F: '/SSTAT/ {print $2}') && [ $((status & 7)) -eq 2 ]; do
      sleep 5
    done
    case $((status & 7)) in
      1 | 4) ;;
      *) echo "$device $serial NOT erased: status $status" >&2 && failed=1 && continue ;;
    esac
    echo "$device $serial sanitized"
  elif nvme format "$device" --ses=1 --force; then
    echo "$device $serial formatted"
  else
    echo "$device $serial NOT erased" >&2
    failed=1
  fi
done
exit "$failed"
