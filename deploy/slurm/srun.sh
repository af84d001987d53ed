#!/bin/bash
#SBATCH --job-name=distkern
#SBATCH --time=24:00:00
#SBATCH --ntasks=66
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=4096M
#SBATCH --output=distkern-%j.out

# Runs one distkern command on the tasks of one srun: a scheduler, the command, and 64 workers of one thread each.
#
#   sbatch srun.sh gram cohort.npy cohort.zarr --kernel kendall
#
# The paths, the folder of submission and the environment (pip install 'distkern[slurm]') must be on a file system that
# all nodes share. If the wall time was too short submit the job again: it continues from the stored tiles.
set -euo pipefail

folder=$(mktemp -d -p "$SLURM_SUBMIT_DIR" .distkern-XXXXXX)
trap 'rm -rf "$folder"' EXIT
distkern deploy certificates "$folder/tls"
srun --kill-on-bad-exit=1 distkern deploy srun "$folder" "$@"
