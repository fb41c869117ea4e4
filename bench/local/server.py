"""The child process of the embedded model: ``python -m bench.local.server --model FILE --alias NAME``.

It serves one GGUF file with llama.cpp over an OpenAI-compatible API on 127.0.0.1. Once it answers, it writes
one line of JSON, ``{"url": "http://127.0.0.1:PORT"}``, to its standard output; it ends when its standard
input ends. It needs only the standard library and xllamacpp, because the parent runs it by its path.
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
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
PARENT_POLL_SECONDS = 0.5
HEALTH_SECONDS = 30.0
MAX_THREADS = 8
"""More threads than this only wait for each other with so small a model."""
CACHE_RAM_MIB = 1024
"""Memory for finished prefixes. One token is 23 KB, so this holds about 45,000 tokens."""
IDLE_THREADS_SLEEP = ("OMP_WAIT_POLICY", "PASSIVE")
"""By default llama.cpp's threads spin while they wait for each other. If other programs use the same cores,
they take time from each other, and answers become ten times slower."""
PR_SET_PDEATHSIG = 1
CGROUP_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Cores this process may use, limited by its CPU affinity and by a container's CPU quota."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()  # not on macOS or Windows
    cores = len(affinity) or os.cpu_count() or 1
    try:
        quota, period = CGROUP_CPU_MAX.read_text(encoding="ascii").split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        pass
    return cores


def claim_standard_output() -> int:
    """Return a private copy of standard output; redirect everything else that is printed to standard error.

    llama.cpp writes to the process's descriptors, bypassing ``sys.stdout``; the ready line must stay alone.
    """
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def set_parent_death_signal(number: int) -> None:
    """Have Linux send ``number`` when the thread that started this process ends; 0 cancels it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_with_parent() -> None:
    """End this process when its parent ends, however the parent ends.

    There are three mechanisms. The parent's death ends our standard input. Because a process that the parent
    forked may hold the other end open, we also watch the parent's id. Loading the model holds the interpreter
    lock, which stops both threads for a while; then the kernel's signal helps. :func:`main` cancels that
    afterwards, because it also fires when only the *thread* that started us ends.
    """
    set_parent_death_signal(signal.SIGKILL)
    threading.Thread(target=_exit_at_end_of_input, name="stdin-watch", daemon=True).start()
    if os.name == "posix":
        parent = os.getppid()
        threading.Thread(target=_exit_at_new_parent, args=(parent,), name="parent-watch", daemon=True).start()


def _exit_at_end_of_input() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(0)  # not sys.exit: the server's own threads would keep the process alive


def _exit_at_new_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    os._exit(0)


def server_parameters(options: argparse.Namespace) -> Any:
    """llama.cpp's parameters for ``options``. The values were measured, see the comments."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    # A bare name, from the file's folder: /props shows the path as it was given here.
    os.chdir(options.model.parent)
    parameters.model.path = options.model.name
    parameters.model_alias = {options.alias}
    parameters.hostnames = [HOST]
    parameters.port = options.port
    parameters.ui = False
    parameters.cors_origins = f"http://{HOST}"  # by default any web page could read answers
    parameters.cors_origins_explicit = True
    parameters.verbosity = 1  # errors only
    parameters.n_parallel = options.slots
    parameters.n_ctx = options.context * options.slots
    parameters.kv_unified = False  # a unified cache makes every slot attend over all cells: 1.4 times slower
    parameters.cache_prompt = True
    parameters.cache_ram_mib = CACHE_RAM_MIB  # with 0, no prefix outlives its slot: 1.8 times slower
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    threads = options.threads or min(usable_cores(), MAX_THREADS)
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    if options.gpu_layers is not None:
        parameters.n_gpu_layers = options.gpu_layers
    if options.chat_template:
        parameters.chat_template = options.chat_template
    return parameters


def wait_until_healthy(port: int) -> None:
    """Return once ``/health`` responds with 200. Raises TimeoutError after ``HEALTH_SECONDS``."""
    deadline = time.monotonic() + HEALTH_SECONDS
    while time.monotonic() < deadline:
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


def main() -> None:
    """Serve until standard input ends. If the start fails, print the reason and exit with status 1."""
    parser = argparse.ArgumentParser(prog="python -m bench.local.server", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--alias", required=True, help="the only name of the model in answers")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--slots", type=int, default=4, help="calls answered at once")
    parser.add_argument("--context", type=int, default=8192, help="tokens of context in each slot")
    parser.add_argument("--threads", type=int, help="threads; default: the cores, up to 8")
    parser.add_argument("--gpu-layers", type=int, help="layers computed by the graphics card")
    parser.add_argument("--chat-template", default="", help="a Jinja template instead of the file's own")
    options = parser.parse_args()
    output = claim_standard_output()
    end_with_parent()
    os.environ.setdefault(*IDLE_THREADS_SLEEP)
    import xllamacpp

    try:  # returns once the model is loaded and the port is bound
        server = xllamacpp.Server(server_parameters(options))
    except RuntimeError as error:  # llama.cpp has already logged why
        raise SystemExit(str(error)) from None
    url = str(server.listening_address)
    wait_until_healthy(int(url.rpartition(":")[2]))
    set_parent_death_signal(0)
    os.write(output, (json.dumps({"url": url}) + "\n").encode("ascii"))
    os.close(output)
    threading.Event().wait()


if __name__ == "__main__":
    main()
