#!/usr/bin/python3
"""Vectors for TestLarge of package index, and how fast its peers search them.

    /usr/bin/python3 bench/index_peer.py FOLDER [--rows 1000000] [--queries 1000] [--only flat,hnsw,hnswlib]

writes base.f32, queries.f32 (128 float32 a row) and nearest.txt (the row nearest to
each query, by faiss), and prints a line of JSON for each peer. Debian has both:
python3-faiss, python3-hnswlib. Recall is recall@10 against faiss's flat index; of
the settings tried the first with a recall of at least 0.95 is timed.
"""
import argparse, json, os, statistics, threading, time
import numpy as np

D, K = 128, 10


def data(rows, queries):
    """Rows around a thousand centers of differing spread, as embeddings lie."""
    rng = np.random.default_rng(1)
    centers = rng.standard_normal((1000, D), dtype=np.float32)
    spread = rng.uniform(0.3, 1.0, 1000).astype(np.float32)

    def draw(n):
        c = rng.integers(0, 1000, n)
        return centers[c] + spread[c, None] * rng.standard_normal((n, D), dtype=np.float32)

    return draw(rows), draw(queries)


def single(search, q, seconds=10):
    took, begun, i = [], time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        t = time.perf_counter()
        search(q[i % len(q)][None])
        took.append(1e3 * (time.perf_counter() - t))
        i += 1
    return {"p50_ms": round(statistics.median(took), 3), "p99_ms": round(sorted(took)[len(took) * 99 // 100], 3)}


def clients(search, q, n=64, seconds=20):
    """n threads with a query at a time each, as clients of a server have it."""
    counts, stop = [0] * n, time.perf_counter() + seconds

    def client(c):
        i = c
        while time.perf_counter() < stop:
            search(q[i % len(q)][None])
            counts[c] += 1
            i += n

    threads = [threading.Thread(target=client, args=(c,)) for c in range(n)]
    begun = time.perf_counter()
    [t.start() for t in threads]
    [t.join() for t in threads]
    return round(sum(counts) / (time.perf_counter() - begun))


def batches(search, q, seconds=20):
    """The same queries 64 at a time, the best that a server in front could do."""
    n, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        lo = n % (len(q) - 63)
        search(q[lo : lo + 64])
        n += 64
    return round(n / (time.perf_counter() - begun))


def recall(found, truth):
    return sum(len(set(f) & set(t)) for f, t in zip(found, truth)) / truth.size


def report(name, build, search, q, **more):
    print(json.dumps({"peer": name, "build_s": round(build, 1), **single(search, q), "clients64_qps": clients(search, q),
                      "batches64_qps": batches(search, q), **more}), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--queries", type=int, default=1000)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--only", default="flat,hnsw,hnswlib")
    a = p.parse_args()
    only = a.only.split(",")
    import faiss

    faiss.omp_set_num_threads(a.threads)
    x, q = data(a.rows, a.queries)
    os.makedirs(a.folder, exist_ok=True)
    x.tofile(os.path.join(a.folder, "base.f32"))
    q.tofile(os.path.join(a.folder, "queries.f32"))
    flat = faiss.IndexFlatL2(D)
    t = time.perf_counter()
    flat.add(x)
    build = time.perf_counter() - t
    truth = flat.search(q, K)[1]
    with open(os.path.join(a.folder, "nearest.txt"), "w") as f:
        f.writelines(f"{r[0]}\n" for r in truth)
    if "flat" in only:
        report("faiss flat", build, lambda v: flat.search(v, K), q, recall=1.0)
    if "hnsw" in only:
        h = faiss.IndexHNSWFlat(D, 32)
        h.hnsw.efConstruction = 100
        t = time.perf_counter()
        h.add(x)
        build = time.perf_counter() - t
        for ef in (16, 32, 64, 128, 256, 512, 1024):
            h.hnsw.efSearch = ef
            r = recall(h.search(q, K)[1], truth)
            if r >= 0.95:
                break
        report("faiss HNSW", build, lambda v: h.search(v, K), q, recall=round(r, 3), ef=ef)
    if "hnswlib" in only:
        import hnswlib

        h = hnswlib.Index("l2", D)
        h.init_index(a.rows, ef_construction=100, M=16)
        h.set_num_threads(a.threads)
        t = time.perf_counter()
        h.add_items(x)
        build = time.perf_counter() - t
        for ef in (16, 32, 64, 128, 256, 512, 1024):
            h.set_ef(ef)
            r = recall(h.knn_query(q, K)[0], truth)
            if r >= 0.95:
                break
        report("hnswlib", build, lambda v: h.knn_query(v, K), q, recall=round(r, 3), ef=ef)


if __name__ == "__main__":
    main()
