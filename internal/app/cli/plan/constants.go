package plan

import "fmt"

// The machines of the measurements. The load average shows how far wall-clock times can be off.
// Times of engines are processor times.
const (
	busyMachine  = "Xeon (family 6, model 207), 2 cores of a virtual machine, load average 4 to 12"
	freeMachine  = "Xeon (Emerald Rapids), 2 cores of a virtual machine, nothing else on it"
	quietMachine = "Xeon (Emerald Rapids), 2 cores of a virtual machine, load average 1.7"
)

// engines returns the engines that were measured. Qdrant was not.
func engines() []engine { return []engine{folderEngine(), pgvectorEngine(), weaviateEngine()} }

func folderEngine() engine {
	// A number of a vector takes four bytes, and one more as an integer for the search.
	const measured = "KINDRED_LONG=1 KINDRED_ITEMS=300000 go test ./cmd/kindred -run TestConstants/Folder -v"
	return engine{name: "folder, exact", exact: true, measuredAt: 1e6, diskValue: 5, memoryValue: 1,
		note: "a folder is on one machine: several machines need several indexes, whose answers you join",
		diskRow: Constant{"folder: bytes beside 5 a number", 53, "bytes an item",
			measured, busyMachine},
		memoryRow: Constant{"folder: bytes that a search reads beside 1 a number", 12, "bytes an item",
			"docs/indexes.md: 140 MB of a million items of 128, counted", busyMachine},
		alone: Constant{"folder: search alone, of a million", 0.0134, "seconds of a core",
			"bench/index_peer.py time", freeMachine},
		many: Constant{"folder: search among 64, of a million", 0.00072, "seconds of a core",
			"bench/index_peer.py time", freeMachine},
		fill: Constant{"folder: item written in bulk", 4.9e-6, "seconds of a core", measured, busyMachine},
		points: append(pointsAt(100_000, 696.5, 1.80, 0.234, 0.0051),
			pointsAt(300_000, 693.0, 4.64, 0.406, 0.0049)...)}
}

func pgvectorEngine() engine {
	const measured = "KINDRED_LONG=1 KINDRED_ITEMS=20000 KINDRED_TRIXIE=DIR go test ./cmd/kindred " +
		"-run TestConstants/Postgres -v"
	// A number takes four bytes in the table and four in the graph.
	return engine{name: "pgvector, HNSW", measuredAt: 20_000, diskValue: 8, memoryValue: 4,
		note: "a table is on one server: several servers need several tables, whose answers you join",
		diskRow: Constant{"pgvector: bytes beside 8 a number", 463.3, "bytes an item",
			measured, busyMachine},
		memoryRow: Constant{"pgvector: bytes of the graph beside 4 a number", 319.5, "bytes an item",
			measured, busyMachine},
		alone: Constant{"pgvector: search alone, of 20,000", 750e-6, "seconds of a core", measured, busyMachine},
		many:  Constant{"pgvector: search among 64, of 20,000", 687.5e-6, "seconds of a core", measured, busyMachine},
		fill:  Constant{"pgvector: item written to 20,000", 824.5e-6, "seconds of a core", measured, busyMachine},
		points: append(pointsAt(5_000, 1541.7, 1.156, 0.938, 0.842),
			pointsAt(20_000, 1487.3, 0.750, 0.688, 0.825)...)}
}

func weaviateEngine() engine {
	const measured = "KINDRED_LONG=1 KINDRED_ITEMS=100000 KINDRED_WEAVIATE=PROGRAM go test ./cmd/kindred " +
		"-run TestConstants/Weaviate -v"
	// The process is of 217 MB at 5,000 items, 289 at 20,000 and 578 at 100,000: memory is
	// the slope between the last two.
	return engine{name: "Weaviate, HNSW", measuredAt: 100_000, diskValue: 4, memoryValue: 4,
		note: "one copy; its machines share the vectors by themselves",
		diskRow: Constant{"Weaviate: bytes on disk beside 4 a number", 1286.5, "bytes an item",
			measured, busyMachine},
		memoryRow: Constant{"Weaviate: bytes in memory beside 4 a number", 3105, "bytes an item", measured,
			busyMachine},
		alone: Constant{"Weaviate: search alone, of 100,000", 2812e-6, "seconds of a core", measured, busyMachine},
		many: Constant{"Weaviate: search among 64, of 100,000", 2547e-6, "seconds of a core", measured,
			busyMachine},
		fill: Constant{"Weaviate: item written to 100,000", 473e-6, "seconds of a core", measured, busyMachine},
		points: append(pointsAt(5_000, 1939.4, 1.969, 2.031, 0.312),
			append(pointsAt(20_000, 2024.7, 2.266, 2.000, 0.336),
				pointsAt(100_000, 1798.5, 2.812, 2.547, 0.473)...)...)}
}

func decodeByte() Constant {
	return Constant{"decoding, a byte of a JPEG file", 0.27e-3 / 4670, "seconds of a core",
		"docs/data.md: 0.27 ms for a file of cub100, of 4,670 bytes on average", busyMachine}
}

func objectStore() Constant {
	return Constant{"object store, read by one worker", 95 * (1 << 20), "bytes a second",
		"KINDRED_LONG=1 go test ./cmd/kindred -run TestConstants/ObjectStore -v: the median of 5 times 64 MiB",
		busyMachine}
}

// networks returns the time of an image in each network that a Load can name.
func networks() []Constant {
	return []Constant{
		{"mobilenet_v1_075-128", 2 * 0.1006 / 32, "seconds of a core an image",
			"kindred bench mobilenet_v1_075-128-infer-b32", busyMachine},
		{"resnet18-224", 2 * 0.136 / 16, "seconds of a core an image", "kindred bench resnet18-224-infer-b16",
			quietMachine},
		{"resnet50-224", 2 * 0.474 / 16, "seconds of a core an image", "kindred bench resnet50-224-infer-b16",
			quietMachine},
	}
}

// Networks returns the allowed names of a Load's Network.
func Networks() []string {
	var out []string
	for _, c := range networks() {
		out = append(out, c.Name)
	}
	return out
}

func networkConstant(name string) (Constant, error) {
	for _, c := range networks() {
		if c.Name == name {
			return c, nil
		}
	}
	return Constant{}, fmt.Errorf("network %q was not timed: want one of %q", name, Networks())
}
