#!/bin/bash
# Runs a scheduler and workers on hosts that ssh reaches, until Ctrl-C.
#
#   deploy/ssh/cluster.sh FOLDER SCHEDULER-HOST WORKER-HOST...
#
# FOLDER, which all hosts share under the same path, gets the certificates and the scheduler's file; `distkern` and `dask`
# are on the PATH of all hosts (pip install 'distkern[tls]'), and ssh asks for no password. A host named twice runs two
# workers. Meanwhile, on any of the hosts:
#
#   distkern demo --out FOLDER/demo --scheduler-file FOLDER/scheduler.json \
#     --tls-ca-file FOLDER/tls/ca.pem --tls-cert FOLDER/tls/cert.pem --tls-key FOLDER/tls/key.pem
set -euo pipefail

folder=$(realpath "${1:?a folder that all hosts share}")
scheduler=${2:?the host of the scheduler}
workers=("${@:3}")
ssh=(${DISTKERN_SSH:-ssh -tt -o BatchMode=yes}) # -tt: what runs there ends with the connection
file=$folder/scheduler.json
tls=(--tls-ca-file "$folder/tls/ca.pem" --tls-cert "$folder/tls/cert.pem" --tls-key "$folder/tls/key.pem")

if [ ! -d "$folder/tls" ]; then distkern deploy certificates "$folder/tls"; fi
rm -f "$file"
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM

run() { # a host, and the words of a command
	local host=$1
	shift
	"${ssh[@]}" "$host" "exec $(printf '%q ' "$@")" </dev/null &
}

run "$scheduler" dask scheduler --protocol tls --port 8786 --scheduler-file "$file" \
	--dashboard-address 127.0.0.1:8787 "${tls[@]}"
until [ -s "$file" ]; do
	if [ -z "$(jobs -pr)" ]; then
		echo "the scheduler on $scheduler did not start" >&2
		exit 1
	fi
	sleep 0.2
done
for host in "${workers[@]}"; do
	run "$host" dask worker --scheduler-file "$file" --nthreads 1 --dashboard-address 127.0.0.1:0 "${tls[@]}"
done
wait
