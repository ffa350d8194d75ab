# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on the first of several hosts, which an mpirun that it starts spreads its ranks over:

    python3 test/Distributed/hosts.py [--count N] [--gigabits R] COMMAND...

Hosts are network namespaces with a name and an address each, behind a bridge. An agent in the place of rsh
starts processes there; the environment tells the launchers of Open MPI and MPICH of it. With --gigabits each
host sends no more than that per second. Ends with 77 where nobody may make such namespaces."""
import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

NETWORK = "10.77.0"
CARD = "eth0"
SKIPPED = 77


def ip(*words, host=None):
    subprocess.run([*(host or []), "ip", *map(str, words)], check=True)


def inside(process):
    """What a command starts with that runs on a host."""
    return ["nsenter", f"--target={process.pid}", "--net", "--uts"]


def wait_until_apart(process):
    """Until it has a namespace of its own."""
    own = os.readlink("/proc/self/ns/net")
    for _ in range(1000):
        if os.readlink(f"/proc/{process.pid}/ns/net") != own:
            return
        time.sleep(0.01)
    sys.exit("a host did not get a network of its own within 10 s")


def start(name, address, gigabits):
    """A host: a process that its namespaces live with, and which ends with this one, by its closed input."""
    process = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", f"hostname {name} && exec cat"], stdin=subprocess.PIPE)
    wait_until_apart(process)
    host = inside(process)
    ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", CARD, "netns", process.pid)
    ip("link", "set", f"to-{name}", "master", "switch", "up")
    ip("address", "add", f"{address}/24", "dev", CARD, host=host)
    for card in ("lo", CARD):
        ip("link", "set", card, "up", host=host)
    if gigabits:
        subprocess.run([*host, "tc", "qdisc", "add", "dev", CARD, "root", "tbf", "rate", f"{gigabits * 1000:.0f}mbit",
                        "burst", "256kb", "latency", "50ms"], check=True)  # fmt: skip
    return process


def environment(folder, addresses, slots):
    """What launchers read: the agent, the hosts, their network; ranks take turns on hosts, and all of the CPUs."""
    agent, hosts = folder / "agent", folder / "hosts"
    hosts.write_text("".join(f"{address} slots={slots}\n" for address in addresses))
    machines = folder / "machines"
    machines.write_text("".join(f"{address}:1\n" for address in addresses))
    return dict(os.environ,
                OMPI_MCA_plm_rsh_agent=str(agent), OMPI_MCA_orte_default_hostfile=str(hosts),
                OMPI_MCA_btl_tcp_if_include=CARD, OMPI_MCA_oob_tcp_if_include=CARD,
                OMPI_MCA_rmaps_base_mapping_policy="node:OVERSUBSCRIBE", OMPI_MCA_hwloc_base_binding_policy="none",
                PRTE_MCA_plm_ssh_agent=str(agent), PRTE_MCA_prte_default_hostfile=str(hosts),
                PRTE_MCA_prte_if_include=CARD, PRTE_MCA_rmaps_default_mapping_policy="node:OVERSUBSCRIBE",
                PRTE_MCA_hwloc_default_binding_policy="none",
                HYDRA_LAUNCHER="rsh", HYDRA_LAUNCHER_EXEC=str(agent), HYDRA_HOST_FILE=str(machines),
                HYDRA_IFACE=CARD, FI_TCP_IFACE=CARD,
                # UCX (MPICH 4) would find out that all is one machine.
                UCX_TLS="tcp,self", UCX_NET_DEVICES=CARD)  # fmt: skip


def write_agent(folder, processes):
    """AGENT HOST COMMAND...: as rsh does it, with the words as one line for a shell."""
    places = "".join(f"  {address}) process={process.pid} ;;\n" for address, process in processes.items())
    agent = folder / "agent"
    agent.write_text(f"""#!/bin/sh
host=$1
shift
case "$host" in
{places}  *) echo "there is no host $host" >&2; exit 1 ;;
esac
exec nsenter --target=$process --net --uts sh -c "$*"
""")  # fmt: skip
    agent.chmod(0o755)


def end_what_is_left(processes):
    """Daemons of Open MPI 4 may hang at their end (its issue 7790)."""
    own = [process.pid for process in processes.values()]
    networks = [os.readlink(f"/proc/{pid}/ns/net") for pid in own]
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(place / "ns/net") in networks and int(place.name) not in own:
                os.kill(int(place.name), signal.SIGKILL)


def run(arguments):
    processes = {}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mpc-hosts-")))
        ip("link", "add", "switch", "type", "bridge")
        ip("link", "set", "switch", "up")
        for number in range(1, arguments.count + 1):
            address = f"{NETWORK}.{number}"
            processes[address] = start(f"host{number}", address, arguments.gigabits)
            stack.callback(processes[address].communicate)
        write_agent(folder, processes)
        first = next(iter(processes.values()))
        stack.callback(end_what_is_left, processes)
        return subprocess.run([*inside(first), *arguments.command],
                              env=environment(folder, list(processes), slots=64)).returncode  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2, help="how many hosts")
    parser.add_argument("--gigabits", type=float, help="what a host sends at most per second")
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)  # in the network of the bridge
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.apart:
        sys.exit(run(arguments))
    alone = ["unshare", "--net", "--mount", "--uts"]
    if subprocess.run([*alone, "ip", "link", "add", "switch", "type", "bridge"], capture_output=True).returncode:
        print("SKIPPED: this system lets nobody make networks of their own (unshare --net, a bridge)")
        sys.exit(SKIPPED)
    os.execvp("unshare", [*alone, sys.executable, __file__, "--apart", *sys.argv[1:]])


if __name__ == "__main__":
    main()
