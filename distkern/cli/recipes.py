"""The files that `distkern deploy` prints, and the files in ``deploy/``: both are made from ``templates/``."""

from __future__ import annotations

import json
import re
import string
import textwrap
from pathlib import Path
from typing import Any

from distkern.core.errors import InputError

TEMPLATES = Path(__file__).parent / "templates"
MEBI = 2**20


class _Recipe(string.Template):
    """Marks placeholders with ``@@``, which neither shells nor YAML nor Python use."""

    delimiter = "@@"


def filled(template: str, **values: Any) -> str:
    """Fill in a template."""
    return _Recipe((TEMPLATES / f"{template}.in").read_text(encoding="utf-8")).substitute(values)


# SLURM -------------------------------------------------------------------------------------------------------------

_WALLTIME = re.compile(r"(?:(?P<d>\d+)-)?(?P<h>\d+)(?::(?P<m>\d\d))?(?::(?P<s>\d\d))?")


def seconds_of(walltime: str) -> int:
    """Parse a wall time in the format of SLURM, ``days-hours:minutes:seconds`` or a part of it.

    Raises
    ------
    InputError
        If the text has another format, or the time is less than ten minutes, too short for a worker.

    Examples
    --------
    >>> seconds_of("24:00:00"), seconds_of("2-12"), seconds_of("1-00:30:00")
    (86400, 216000, 88200)
    """
    found = _WALLTIME.fullmatch(walltime)
    if found is None or not (found["d"] or (found["m"] and found["s"])):
        raise InputError(
            f"{walltime!r} is not a wall time: write hours:minutes:seconds, such as 24:00:00, or 2-00:00:00"
        )
    days, hours, minutes, seconds = (int(found[part] or 0) for part in "dhms")
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 600:
        raise InputError(f"a wall time of {walltime} is too short for workers to start: give ten minutes or more")
    return total


def slurm(
    *, partition: str | None, account: str | None, walltime: str, cores: int, memory: int, jobs: int, srun: bool
) -> str:
    """Write a job script for one ``srun``, or a Python program that submits jobs of workers.

    Workers stop before the wall time ends: their lifetime and its stagger end at least one stagger earlier.

    Examples
    --------
    >>> given = dict(partition="long", account=None, walltime="01:00:00", cores=4, memory=2**34, jobs=2)
    >>> print(slurm(**given, srun=True).splitlines()[2:6])
    ['#SBATCH --partition=long', '#SBATCH --time=01:00:00', '#SBATCH --ntasks=10', '#SBATCH --cpus-per-task=1']
    """
    total = seconds_of(walltime)
    if srun:
        named = {"partition": partition, "account": account}
        for name, value in named.items():
            if value is not None and not re.fullmatch(r"[\w.,@+-]+", value):
                raise InputError(f"{value!r} is not a valid {name} of SLURM: use letters, digits and .,@+- only")
        return filled(
            "slurm_srun.sh",
            directives="".join(f"#SBATCH --{name}={value}\n" for name, value in named.items() if value is not None),
            walltime=walltime,
            workers=jobs * cores,
            tasks=jobs * cores + 2,
            memory_mib=memory // cores // MEBI,
        )
    stagger = min(300, total // 20)
    return filled(
        "slurm_cluster.py",
        partition=_python(partition),
        account=_python(account),
        walltime=walltime,
        cores=cores,
        memory_mib=memory // MEBI,
        jobs=jobs,
        lifetime=total - 3 * stagger,
        stagger=stagger,
    )


def _python(text: str | None) -> str:
    return "None" if text is None else json.dumps(text, ensure_ascii=True)


# Kubernetes --------------------------------------------------------------------------------------------------------

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_TLS = ("--tls-ca-file", "/tls/ca.pem", "--tls-cert", "/tls/cert.pem", "--tls-key", "/tls/key.pem")
_JOB = ("gram", "/data/cohort.npy", "/data/cohort.zarr", "--kernel", "kendall")


def kubernetes(
    *, name: str, image: str, workers: int, memory: int, storage: int, cluster: bool, command: tuple[str, ...] = ()
) -> str:
    """Write the manifests of a job with its own cluster, or of a cluster that keeps running.

    Raises
    ------
    InputError
        If the name is not valid in Kubernetes.

    Examples
    --------
    >>> given = dict(image="distkern:1", workers=4, memory=2**32, storage=2**36, cluster=True)
    >>> kubernetes(name="genes", **given).splitlines()[0]
    '# A Dask cluster on Kubernetes, which stays until it is deleted.'
    >>> kubernetes(name="Genes", **given)
    Traceback (most recent call last):
        ...
    distkern.core.errors.InputError: 'Genes' is not a valid Kubernetes name: ...
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a valid Kubernetes name: use 1 to 40 small letters, digits and hyphens, a letter first"
        )
    values = {
        "name": name,
        "image": json.dumps(image),
        "workers": workers,
        "memory_mib": memory // MEBI,
        "tls": ", ".join(_TLS),
        "command": ", ".join(map(json.dumps, command or _JOB)),
    }
    spec = filled("kubernetes_cluster.yaml", **values)
    use = ["kubectl apply -f FILE"]
    if cluster:
        title = "A Dask cluster on Kubernetes, which stays until it is deleted."
        use.append(f"kubectl exec -it deployment/{name}-scheduler -- distkern demo --out /data/demo \\")
        use.append(f"  --scheduler tls://127.0.0.1:8786 {' '.join(_TLS)}")
    else:
        title = "Runs one distkern command on Kubernetes, on a Dask cluster that comes and goes with it."
        use.append(f"kubectl logs -f {name}-runner")
        spec = filled("kubernetes_job.yaml", cluster=textwrap.indent(spec, "    ").rstrip("\n"), **values)
    return filled(
        "kubernetes.yaml",
        title=title,
        use="\n".join(f"#   {line}" for line in use),
        kind="DaskCluster" if cluster else "DaskJob",
        storage=f"{storage // MEBI}Mi",
        spec=textwrap.indent(spec, "  ").rstrip("\n"),
        name=name,
    )
