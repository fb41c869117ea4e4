"""The child process of the embedded model: ``python -m bench.local.server --model FILE --alias NAME``.

It serves one GGUF file with llama.cpp over an OpenAI-compatible API on 127.0.0.1, writes one line of JSON,
``{"url": "http://127.0.0.1:PORT"}``, to its standard output once it answers, and ends when its standard input
ends. The file needs only the standard library and xllamacpp, because the parent runs it by its path.
"""

from __future__ import annotations

import argparse
import ctypes
import http.client
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
PARENT_POLL_SECONDS = 0.5
HEALTH_SECONDS = 30.0
MAX_THREADS = 8
"""More threads than this only wait for each other on so small a model."""
CACHE_RAM_MIB = 1024
"""Finished prefixes kept in memory. One token is 23 KB, so this holds about 45,000 tokens."""
THREADS_SLEEP_WHEN_IDLE = ("OMP_WAIT_POLICY", "PASSIVE")
"""By default llama.cpp's threads spin while they wait for each other. Where any other program wants the same
cores, they then take each other's time away, and answers come ten times slower."""
PR_SET_PDEATHSIG = 1
CGROUP_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class Options:
    """What is served, and how."""

    model: Path
    alias: str
    """The only name of the model that an answer shows."""
    port: int = 0
    """0: any free port."""
    slots: int = 4
    """Calls that are answered at once."""
    context: int = 8192
    """Tokens of context in each slot."""


def parsed(arguments: Sequence[str] | None = None) -> Options:
    """The options on the command line; exits with status 2 where they are wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.local.server", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--alias", required=True, help="the name of the model in answers")
    parser.add_argument("--port", type=int, default=Options.port, help="0: any free port")
    parser.add_argument("--slots", type=int, default=Options.slots, help="calls answered at once")
    parser.add_argument("--context", type=int, default=Options.context, help="tokens of context a slot")
    return Options(**vars(parser.parse_args(arguments)))


def usable_cores() -> int:
    """Cores this process may use: those it is bound to, or fewer where a container has a CPU quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        cores = os.cpu_count() or 1
    try:
        quota, period = CGROUP_CPU_MAX.read_text(encoding="ascii").split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        pass
    return cores


def claim_standard_output() -> int:
    """A private copy of standard output; from now on whatever prints to it goes to standard error.

    llama.cpp writes to the process's own descriptors, past ``sys.stdout``; the ready line must stay alone.
    """
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def set_parent_death_signal(number: int) -> None:
    """Have Linux send ``number`` when the thread that started this process ends; 0 takes it back."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_with_parent() -> None:
    """End this process when its parent has ended, in whatever way that one ended.

    Three belts. The parent's death ends our standard input; but a process the parent forked may hold the
    other end open, so the parent's id is watched too. Loading the model holds the interpreter lock, which
    stops both threads for that while: there the kernel's own signal helps. It must be taken back afterwards
    (:func:`main`), since it also fires when only the *thread* that started us ends.
    """
    set_parent_death_signal(signal.SIGKILL)
    threading.Thread(target=_exit_at_end_of_input, name="stdin-watch", daemon=True).start()
    if os.name == "posix":
        threading.Thread(
            target=_exit_at_new_parent, args=(os.getppid(),), name="parent-watch", daemon=True
        ).start()


def _exit_at_end_of_input() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(0)  # not sys.exit: the server's own threads would keep the process


def _exit_at_new_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    os._exit(0)


def server_parameters(options: Options) -> Any:
    """llama.cpp's parameters for ``options``; the values were measured, see the comments."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    # A bare name, from the folder of the file: /props tells the path as it was given here.
    os.chdir(options.model.parent)
    parameters.model.path = options.model.name
    parameters.model_alias = {options.alias}
    parameters.hostnames = [HOST]
    parameters.port = options.port
    parameters.ui = False
    parameters.cors_origins = f"http://{HOST}"  # the default lets any web page read answers
    parameters.cors_origins_explicit = True
    parameters.verbosity = 1  # errors only
    parameters.n_parallel = options.slots
    parameters.n_ctx = options.context * options.slots
    parameters.kv_unified = False  # a unified cache makes every slot attend over all cells: 1.4 times slower
    parameters.cache_prompt = True
    parameters.cache_ram_mib = CACHE_RAM_MIB  # 0, so no prefix outlives its slot: 1.8 times slower
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    threads = min(usable_cores(), MAX_THREADS)
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    return parameters


def wait_until_healthy(port: int) -> None:
    """Return once ``/health`` says ok; ``TimeoutError`` after :data:`HEALTH_SECONDS`."""
    limit = time.monotonic() + HEALTH_SECONDS
    while time.monotonic() < limit:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass  # not listening yet
        finally:
            connection.close()
        time.sleep(0.05)
    raise TimeoutError(f"/health was not ok within {HEALTH_SECONDS:.0f} s")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input ends. Where that cannot start: words on standard error, status 1."""
    options = parsed(arguments)
    output = claim_standard_output()
    end_with_parent()
    os.environ.setdefault(*THREADS_SLEEP_WHEN_IDLE)
    import xllamacpp

    try:  # it returns with the model loaded and the port bound
        server = xllamacpp.Server(server_parameters(options))
    except RuntimeError as error:  # llama.cpp has already said why
        raise SystemExit(str(error)) from None
    url = str(server.listening_address)
    wait_until_healthy(int(url.rpartition(":")[2]))
    set_parent_death_signal(0)
    os.write(output, (json.dumps({"url": url}) + "\n").encode("ascii"))
    os.close(output)
    threading.Event().wait()


if __name__ == "__main__":
    main()
