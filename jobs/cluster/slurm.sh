#!/bin/bash
# sbatch jobs/cluster/slurm.sh CONFIG [OPTIONS of simfarm run]: Ray over the nodes of one Slurm job, for one run.
#SBATCH --job-name=simfarm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --exclusive
#SBATCH --signal=B:INT@60
set -euo pipefail

if [ $# -lt 1 ]; then
  echo "usage: sbatch $0 CONFIG [OPTIONS of simfarm run]" >&2
  exit 2
fi
bin=${SIMFARM_BIN:-.venv/bin} # on every node the same, as in a shared home
port=${SIMFARM_RAY_PORT:-$((20000 + SLURM_JOB_ID % 10000))}
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=$(srun --nodes=1 --ntasks=1 -w "${hosts[0]}" hostname --ip-address | awk '{ print $1 }')

# Ray of this job alone: a token of its own, sockets and logs in a folder of its own on each node
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$("$bin/python" -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN
folder=/tmp/ray-$SLURM_JOB_ID
export RAY_TMPDIR=$folder

srun --nodes=1 --ntasks=1 --overlap -w "${hosts[0]}" \
  "$bin/ray" start --head --node-ip-address="$head" --port="$port" --temp-dir="$folder" \
  --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false --disable-usage-stats --block &
started=($!)
for host in "${hosts[@]:1}"; do
  srun --nodes=1 --ntasks=1 --overlap -w "$host" \
    "$bin/ray" start --address="$head:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --disable-usage-stats --block &
  started+=($!)
done
trap 'kill "${started[@]}" 2>/dev/null || true' EXIT

# The batch script runs on the first node. Nodes that come later than the driver get work as they come.
for _ in $(seq 60); do
  (: > "/dev/tcp/$head/$port") 2>/dev/null && break
  sleep 1
done

# An INT near the end of the job's time lets the run stop with everything committed: submit again to go on.
"$bin/simfarm" run "$@" --ray-address "$head:$port" &
run=$!
trap 'kill -INT "$run"' INT
code=0
wait "$run" || code=$?
if kill -0 "$run" 2>/dev/null; then # the trap ended the first wait
  code=0
  wait "$run" || code=$?
fi
exit "$code"
