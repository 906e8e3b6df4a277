#!/usr/bin/python3
"""An index of package index beside faiss and hnswlib, on the same made-up vectors.

    /usr/bin/python3 bench/index_peer.py build FOLDER [--rows 1000000]
    /usr/bin/python3 bench/index_peer.py time FOLDER [--rounds 3] [--seconds 8]

build writes the vectors (base.f32, queries.f32: 128 float32 a row), what is nearest to
each query by faiss's flat index (nearest.txt, truth.npy), and the graphs of faiss and
hnswlib, which takes most of an hour on two cores; what is there already stays. time runs
all of them in turn, each in a process of its own, as many rounds as asked, and prints the
medians as a table; it builds kindred's index, which takes half a minute, if it is not
there. Debian has the peers: python3-faiss, python3-hnswlib.

Recall is recall@10 against the flat index. A graph is searched with the first setting of
ef that reaches 0.95.
"""
import argparse, json, os, resource, statistics, subprocess, sys, threading, time
import numpy as np

D, K = 128, 10
PEERS = ("flat", "hnsw", "hnswlib")
NAMES = {"flat": "faiss flat", "hnsw": "faiss HNSW", "hnswlib": "hnswlib", "kindred": "kindred, exact"}


def data(rows, queries):
    """Rows around a thousand centers of differing spread, as embeddings lie."""
    rng = np.random.default_rng(1)
    centers = rng.standard_normal((1000, D), dtype=np.float32)
    spread = rng.uniform(0.3, 1.0, 1000).astype(np.float32)

    def draw(n):
        c = rng.integers(0, 1000, n)
        return centers[c] + spread[c, None] * rng.standard_normal((n, D), dtype=np.float32)

    return draw(rows), draw(queries)


def vectors(folder, name):
    return np.fromfile(os.path.join(folder, name), dtype=np.float32).reshape(-1, D)


def processor_ms():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (u.ru_utime + u.ru_stime)


class Peer:
    """One of the peers: search(v) returns the rows nearest to each row of v."""

    files = {"flat": "base.f32", "hnsw": "hnsw.faiss", "hnswlib": "hnswlib.bin"}

    def __init__(self, kind, folder):
        self.path = os.path.join(folder, self.files[kind])
        self.kind = kind
        begun = time.perf_counter()
        if kind == "hnswlib":
            import hnswlib

            self.index = hnswlib.Index("l2", D)
            self.index.load_index(self.path)
        else:
            import faiss

            faiss.omp_set_num_threads(2)
            if kind == "flat":
                self.index = faiss.IndexFlatL2(D)
                self.index.add(vectors(folder, "base.f32"))
            else:
                self.index = faiss.read_index(self.path)
        self.open_ms = 1e3 * (time.perf_counter() - begun)

    def set(self, ef):
        if self.kind == "hnsw":
            self.index.hnsw.efSearch = ef
        elif self.kind == "hnswlib":
            self.index.set_ef(ef)

    def search(self, v):
        if self.kind == "hnswlib":
            return self.index.knn_query(v, K, num_threads=1 if len(v) == 1 else 2)[0]
        return self.index.search(v, K)[1]


def recall(found, truth):
    return sum(len(set(f) & set(t)) for f, t in zip(found, truth)) / truth.size


def tune(peer, q, truth):
    """Sets the first ef that reaches a recall of 0.95."""
    if peer.kind == "flat":
        return {"recall": 1.0}
    for ef in (16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024):
        peer.set(ef)
        r = recall(peer.search(q), truth)
        if r >= 0.95:
            break
    return {"recall": round(r, 3), "ef": ef}


def clients(search, q, n, seconds):
    """n threads with a query at a time each, as clients of a server have it."""
    took, stop = [[] for _ in range(n)], time.perf_counter() + seconds

    def client(c):
        i = c
        while (begun := time.perf_counter()) < stop:
            search(q[i % len(q)][None])
            took[c].append(1e3 * (time.perf_counter() - begun))
            i += n

    used, begun = processor_ms(), time.perf_counter()
    threads = [threading.Thread(target=client, args=(c,)) for c in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    wall, used = time.perf_counter() - begun, processor_ms() - used
    all = sorted(t for c in took for t in c)
    return {"per_s": len(all) / wall, "p50_ms": all[len(all) // 2], "p99_ms": all[len(all) * 99 // 100],
            "cpu_ms": used / len(all)}


def batches(search, q, seconds):
    """The same queries 64 at a time, the best that a server in front could do."""
    n, begun, used = 0, time.perf_counter(), processor_ms()
    while time.perf_counter() - begun < seconds:
        lo = n % (len(q) - 63)
        search(q[lo : lo + 64])
        n += 64
    return {"per_s": n / (time.perf_counter() - begun), "cpu_ms": (processor_ms() - used) / n}


def memory():
    with open("/proc/self/status") as f:
        return {k: int(v.split()[0]) >> 10 for k, v in (line.split(":") for line in f) if k in ("RssAnon", "RssFile")}


def once(kind, folder, seconds):
    """What a process of its own prints of one peer."""
    q, truth = vectors(folder, "queries.f32"), np.load(os.path.join(folder, "truth.npy"))
    before = memory()
    peer = Peer(kind, folder)
    tuned = os.path.join(folder, kind + ".tuned.json")
    if os.path.exists(tuned):
        out = json.load(open(tuned))
        peer.set(out.get("ef"))
    else:
        out = tune(peer, q, truth)
        json.dump(out, open(tuned, "w"))
    clients(peer.search, q, 1, seconds / 4)
    out.update(open_ms=peer.open_ms, one=clients(peer.search, q, 1, seconds),
               clients64=clients(peer.search, q, 64, seconds), batches64=batches(peer.search, q, seconds / 2))
    out["memory"] = {k: v - before[k] for k, v in memory().items()}
    print("figures " + json.dumps(out))


def build(folder, rows):
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, name)
    missing = lambda name: not os.path.exists(at(name))
    if missing("base.f32") or missing("queries.f32"):
        x, q = data(rows, 1000)
        x.tofile(at("base.f32"))
        q.tofile(at("queries.f32"))
    x, q = vectors(folder, "base.f32"), vectors(folder, "queries.f32")
    import faiss, hnswlib

    faiss.omp_set_num_threads(2)
    if missing("truth.npy"):
        flat = faiss.IndexFlatL2(D)
        flat.add(x)
        np.save(at("truth.npy"), flat.search(q, K)[1])
    with open(at("nearest.txt"), "w") as f:
        f.writelines(f"{r[0]}\n" for r in np.load(at("truth.npy")))
    for name, part in (("hnswlib.bin", build_hnswlib), ("hnsw.faiss", build_faiss)):
        if missing(name):
            begun, used = time.perf_counter(), processor_ms()
            part(x, at(name + ".part"))
            os.replace(at(name + ".part"), at(name))
            with open(at(name + ".json"), "w") as f:
                json.dump({"build_s": time.perf_counter() - begun, "cpu_s": (processor_ms() - used) / 1e3}, f)


def build_hnswlib(x, path):
    import hnswlib

    h = hnswlib.Index("l2", D)
    h.init_index(len(x), ef_construction=100, M=16)
    h.set_num_threads(2)
    h.add_items(x)
    h.save_index(path)


def build_faiss(x, path):
    import faiss

    h = faiss.IndexHNSWFlat(D, 16)
    h.hnsw.efConstruction = 40  # of 100, faiss takes ten times as long as hnswlib
    h.add(x)
    faiss.write_index(h, path)


def run(kind, folder, seconds, program):
    """Times one in a process of its own."""
    env = dict(os.environ, KINDRED_INDEX_BENCH=folder, KINDRED_INDEX_SECONDS=str(seconds))
    command = [sys.executable, __file__, "once", folder, "--peer", kind, "--seconds", str(seconds)]
    if kind == "kindred":
        command = [program, "-test.run", "TestLarge$", "-test.v"]
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{NAMES[kind]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("figures "))
    return json.loads(line.removeprefix("figures "))


def measure(folder, rounds, seconds, only):
    program = os.path.join(folder, "index.test")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    subprocess.run(["go", "test", "-c", "-o", program, "./index"], check=True, cwd=root)
    there = lambda k: os.path.exists(os.path.join(folder, Peer.files[k]))
    kinds, results, loads = [k for k in only if there(k)] + ["kindred"], {}, []
    adds = {}
    if not os.path.exists(os.path.join(folder, "kindred.index")):
        adds = run("kindred", folder, 1, program)
    for r in range(rounds):
        for kind in kinds:
            before = os.getloadavg()[0]
            f = run(kind, folder, seconds, program)
            loads.append(before)
            results.setdefault(kind, []).append(f)
            print(f"round {r + 1}, load {before:.1f}, {NAMES[kind]}: {json.dumps(f)}", file=sys.stderr, flush=True)
    table(kinds, results, loads, adds)


def table(kinds, results, loads, adds):
    def median(kind, *path):
        values = []
        for f in results[kind]:
            for p in path:
                f = f.get(p, {}) if isinstance(f, dict) else f
            if f != {}:
                values.append(f)
        return statistics.median(values) if values else None

    def number(v):
        return "" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}"

    rows = [("recall@10", ("recall",)), ("open, ms", ("open_ms",)), ("one query at a time, p50, ms", ("one", "p50_ms")),
            ("the same, p99", ("one", "p99_ms")), ("the same, time of processors, ms", ("one", "cpu_ms")),
            ("64 clients, queries a second", ("clients64", "per_s")), ("the same, p99, ms", ("clients64", "p99_ms")),
            ("the same, time of processors a query, ms", ("clients64", "cpu_ms")),
            ("64 in one call, queries a second", ("batches64", "per_s")),
            ("memory of its own, MiB", ("memory", "RssAnon")), ("mapped files in memory, MiB", ("memory", "RssFile"))]
    print(f"load average {min(loads):.1f} to {max(loads):.1f}, medians of {len(results[kinds[0]])} rounds\n")
    print("| | " + " | ".join(NAMES[k] for k in kinds) + " |\n|---|" + "---|" * len(kinds))
    for name, path in rows:
        cells = [number(median(k, *path)) for k in kinds]
        if path == ("recall",):
            cells = ["1" if k in ("kindred", "flat") else f"{median(k, 'recall'):.3f}" for k in kinds]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if adds:
        print(f"\nadds in bulk {adds['bulk_adds_per_s']:,.0f} a second, one by one from 64 clients "
              f"{adds['adds64_per_s']:,.0f}, compaction {adds['compact_s']:.1f} s")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("task", choices=("build", "time", "once"))
    p.add_argument("folder")
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--only", default=",".join(PEERS))
    p.add_argument("--peer", choices=PEERS)
    a = p.parse_args()
    if a.task == "build":
        build(a.folder, a.rows)
    elif a.task == "once":
        once(a.peer, a.folder, a.seconds)
    else:
        measure(a.folder, a.rounds, a.seconds, [k for k in a.only.split(",") if k])


if __name__ == "__main__":
    main()
