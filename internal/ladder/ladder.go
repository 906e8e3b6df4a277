// Package ladder is the table of this module's packages: what each is for, and
// what it may import. docs/design/architecture.md shows it, and a test compares
// it with what the packages import.
package ladder

import (
	"slices"
	"strings"
)

// Package is a line of the table.
type Package struct {
	// Path is below the module's; "." is the root.
	Path string
	// Holds says what it is for, in Markdown and in one line.
	Holds string
	// Imports lists what it may import outside its tests, separated by blanks:
	// packages of this module, all of which stand above it in the table, and
	// other modules but for the standard library. "*" is all.
	Imports string
}

// May reports whether p may import a package of this module, given by its path
// below the module's, or of another one, given by its whole path.
func (p *Package) May(path string) bool {
	return slices.ContainsFunc(strings.Fields(p.Imports), func(allowed string) bool {
		return allowed == "*" || allowed == path || isModule(allowed) && strings.HasPrefix(path, allowed+"/")
	})
}

// isModule tells another module from a package of this one.
func isModule(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

// Packages returns the table, from what imports nothing to the command.
func Packages() []Package {
	return slices.Concat(foundations(), kernels(), learning(), pictures(), measuring(), running(), showing(),
		serving(), repository())
}

// foundations know nothing of learning.
func foundations() []Package {
	return []Package{
		{".", "nothing: its comment is the module's front page", ""},
		{"internal/par", "loops on all cores, cut the same way on any machine", ""},
		{"internal/lock", "a folder for one process at a time", "golang.org/x/sys"},
		{"internal/atomic", "files replaced by rename; what killed processes left removed", "internal/lock"},
		{"internal/budget", "the one limit on memory under every reader and every plan", "golang.org/x/sys"},
		{"internal/regular", "opening of input files, which must be regular ones", "internal/budget"},
		{"internal/home", "the folders of what kindred can fetch or compute again", ""},
		{"embedding/internal/columns", "what the columns of a table of embeddings are called", ""},
		{"internal/download", "files from HTTP servers: resumed, bounded, checked, then renamed",
			"internal/atomic internal/budget internal/lock internal/regular"},
		{"internal/escape", "text from outside made safe for HTML, Markdown and terminals", ""},
		{"internal/strictjson", "JSON without what encoding/json mends in silence", ""},
		{"internal/option", "errors that name options and keys, which a command calls by its flags", ""},
		{"internal/spell", "names of a closed list to numbers and back; what a mistyped one may have meant", ""},
		{"internal/yamltext", "YAML from outside, parsed within bounds, and taken apart with errors that name the line",
			"internal/regular internal/spell github.com/goccy/go-yaml"},
	}
}

// kernels are the inner loops and what stands directly on them.
func kernels() []Package {
	return []Package{
		{"internal/kernel/simd", "float32 kernels: AVX-512, AVX2+FMA, NEON, plain Go; dispatch",
			"github.com/klauspost/cpuid/v2"},
		{"internal/kernel/amx", "whether the matrix unit may be used", "github.com/klauspost/cpuid/v2"},
		{"internal/kernel/dot8", "exact dot products of 8-bit rows, and what rounding to these loses",
			"internal/kernel/simd internal/kernel/amx github.com/klauspost/cpuid/v2"},
		{"internal/kernel/dot16", "exact dot products of 16-bit rows, and their filter",
			"internal/kernel/simd github.com/klauspost/cpuid/v2"},
		{"internal/kernel/scan", "kernels over a row of similarities: extremes, thresholds, exponentials",
			"internal/kernel/simd"},
		{"internal/kernel/pix", "inner loops from 8-bit pixels to normalised float32", "internal/kernel/simd"},
		{"internal/kernel/bf16", "bfloat16 products: matrix unit (AMX), AVX512_BF16, plain Go with the same rounding",
			"internal/kernel/simd internal/kernel/amx github.com/klauspost/cpuid/v2"},
		{"nn/internal/conv", "channels-last convolution, forward and backward, as implicit matrix products",
			"internal/par internal/kernel/simd internal/kernel/bf16"},
		{"nn/internal/attention", "multi-head attention, forward and backward, in blocks of queries",
			"internal/par internal/kernel/simd internal/kernel/bf16"},
		{"mat", "Dense float32, matrix products, norms, pairwise distances in blocks",
			"internal/par internal/kernel/simd"},
		{"internal/coded", "rows coded in 8 or 16 bits or float32: scores of blocks of them, and what coding took",
			"internal/par internal/kernel/dot8 internal/kernel/dot16 mat"},
	}
}

// learning goes from a batch's embeddings to their gradient, and from there
// through a network.
func learning() []Package {
	return []Package{
		{"internal/pair", "a batch seen as pairs; tuples; pair weights turned into dL/dE",
			"internal/par internal/kernel/scan internal/kernel/simd internal/kernel/bf16 internal/spell mat"},
		{"opt", "numbers that a configuration may leave out", ""},
		{"mine", "positive x negative policies: a pair batch in, tuples out",
			"internal/par internal/kernel/scan internal/kernel/simd internal/spell mat opt internal/pair"},
		{"loss", "a pair batch and tuples in, value and pair weights out; own parameters",
			"internal/par internal/kernel/scan internal/kernel/simd internal/spell mat opt internal/pair"},
		{"objective", "a loss with its miner, from options to value and gradient",
			"internal/budget internal/option internal/spell internal/par mat opt internal/pair mine loss"},
		{"format/safetensors", "the safetensors file format", "internal/budget internal/regular"},
		{"internal/torchfile", "weights out of PyTorch's .pth files",
			"internal/budget internal/regular format/safetensors github.com/nlpodyssey/gopickle"},
		{"internal/onnx", "the ONNX format: graphs of operators with their weights",
			"internal/budget internal/escape internal/regular format/safetensors google.golang.org/protobuf"},
		{"internal/weights", "pretrained networks by name: their files, fetched and cached",
			"internal/budget internal/download internal/home internal/option internal/regular internal/spell " +
				"internal/torchfile"},
		{"nn", "network description; CPU engine that runs and trains it",
			"internal/budget internal/regular internal/spell internal/par internal/kernel/simd " +
				"internal/kernel/bf16 nn/internal/conv nn/internal/attention internal/atomic mat " +
				"format/safetensors"},
		{"nn/zoo", "the networks that are known by name; weights that others trained for them",
			"internal/spell format/safetensors internal/torchfile nn"},
		{"nn/onnxnet", "ONNX models turned into networks, and networks into ONNX models",
			"internal/budget internal/escape internal/onnx format/safetensors nn nn/zoo"},
		{"nn/optim", "Adam, AdamW, SGD; schedules, clipping, rates by group",
			"internal/par internal/spell internal/kernel/simd nn format/safetensors"},
	}
}

// pictures are read, prepared and batched.
func pictures() []Package {
	return []Package{
		{"embedding", "embeddings and labels from and to files",
			"internal/budget embedding/internal/columns internal/regular internal/atomic internal/strictjson mat " +
				"format/safetensors"},
		{"embedding/parquet", "Parquet for package embedding, apart so that only who wants it links its library",
			"internal/budget embedding/internal/columns mat embedding github.com/parquet-go/parquet-go " +
				"github.com/andybalholm/brotli github.com/klauspost/compress"},
		{"internal/jpeg", "baseline JPEG, quickly, into reused memory", "internal/budget"},
		{"internal/layout/idx", "the idx format of MNIST and its kin", "internal/budget internal/regular"},
		{"internal/layout/matfile", "MATLAB 5 files, as annotations come in", "internal/budget"},
		{"internal/rows", "rows of numbers kept in a file, each under the digest of what it was computed from",
			"internal/atomic format/safetensors"},
		{"internal/mapped", "files read through memory, which may be cut off meanwhile",
			"internal/budget internal/regular github.com/edsrzf/mmap-go"},
		{"internal/layout/packed", "decoded images in one memory-mapped file",
			"internal/budget internal/regular internal/atomic internal/mapped github.com/edsrzf/mmap-go"},
		{"data/imaging", "decode, resize, augment and normalise one image",
			"internal/budget internal/spell internal/jpeg internal/kernel/pix internal/kernel/simd " +
				"golang.org/x/image"},
		{"data", "data sets in their layouts, label rules, splits, loaders, class-balanced batches",
			"internal/budget internal/home internal/option internal/regular internal/par " +
				"internal/atomic mat " +
				"embedding internal/layout/idx internal/layout/matfile data/imaging internal/layout/packed"},
		{"internal/inspect", "what `kindred data info` finds out about a set",
			"internal/budget internal/par internal/atomic data data/imaging golang.org/x/image"},
		{"internal/fetch", "`kindred data get`: known sets, their files and where they come from",
			"internal/budget internal/regular internal/lock internal/atomic internal/download data " +
				"internal/layout/idx"},
	}
}

// measuring says how good embeddings are.
func measuring() []Package {
	return []Package{
		{"eval/rank", "the ranks of every query's positives in a gallery, exactly",
			"internal/regular internal/spell internal/par internal/kernel/simd internal/kernel/dot8 " +
				"internal/kernel/dot16 mat internal/coded"},
		{"eval/cluster", "k-means; scores of a partition against labels; whether there is one cluster",
			"internal/spell internal/par internal/kernel/dot8 internal/kernel/dot16 internal/kernel/scan mat " +
				"internal/coded gonum.org/v1/gonum"},
		{"eval/verify", "decisions by a threshold: error rates of all pairs, and of probes that may be unknown",
			"internal/par mat eval/rank"},
		{"eval", "metrics by name over ranks and clusterings; reports",
			"internal/escape internal/budget internal/par mat eval/rank eval/cluster eval/verify"},
		{"discover", "which classes of an embedding hold several kinds of things, and the kinds inside them",
			"internal/spell internal/par mat eval/rank gonum.org/v1/gonum"},
		{"eval/diagnose", "collapse diagnosis",
			"internal/escape internal/spell internal/par internal/kernel/dot16 mat opt eval eval/rank eval/cluster " +
				"discover gonum.org/v1/gonum"},
		{"internal/detection", "wrong labels to look for, and how well scores tell them", "mat"},
		{"clean", "wrong labels, copies, items unlike anything and classes that overlap",
			"internal/par internal/detection mat eval/rank gonum.org/v1/gonum golang.org/x/image"},
		{"decide", "decisions with a stated error on classes never seen: same or not, who is it, unknown",
			"internal/atomic internal/budget internal/regular internal/strictjson internal/par mat eval/rank " +
				"gonum.org/v1/gonum"},
		{"projection", "two-dimensional maps of embeddings: PCA, t-SNE",
			"internal/spell internal/par internal/kernel/simd mat eval/rank gonum.org/v1/gonum"},
	}
}

// running is training.
func running() []Package {
	return []Package{
		{"train", "the loop: batches in, a trained network out; checkpoints; no files, no configuration",
			"internal/budget internal/par mat loss objective nn nn/optim format/safetensors data"},
		{"store", "items, what an engine that holds them can do; the contract between servers and engines",
			"internal/escape"},
		{"filter", "which items of a store count: the text, its tree, and what passes",
			"store internal/escape internal/spell"},
		{"internal/nearest", "the rows nearest to queries, exactly, in rows coded beforehand",
			"internal/par internal/mapped internal/kernel/dot16 mat internal/coded eval/rank"},
		{"index", "items with their vectors in a folder: durable changes, filters, exact search and search in lists",
			"internal/atomic internal/budget internal/escape internal/lock internal/mapped internal/nearest " +
				"internal/regular internal/kernel/dot16 mat eval/rank eval/cluster store filter"},
		{"internal/tfevents", "event files as TensorBoard reads them", "google.golang.org/protobuf"},
		{"run", "configuration, run folders and who may write them, models loaded and used",
			"internal/yamltext internal/budget internal/option internal/spell internal/regular internal/atomic " +
				"internal/home internal/lock internal/pair internal/rows internal/tfevents mine loss " +
				"objective mat nn nn/zoo nn/optim nn/onnxnet data data/imaging eval " +
				"eval/rank eval/cluster discover eval/diagnose embedding train format/safetensors " +
				"github.com/goccy/go-yaml gonum.org/v1/gonum"},
		{"jobs", "work cut into units that anyone may do again; done in this process, and what they came to remembered",
			"internal/atomic internal/regular"},
		{"sweep", "settings chosen on validation classes: plans, trials, early stopping, winners",
			"internal/atomic internal/lock internal/regular internal/spell internal/yamltext jobs data embedding " +
				"train run github.com/goccy/go-yaml"},
		{"internal/progress", "a run's progress on a terminal",
			"train github.com/schollz/progressbar/v3 golang.org/x/term"},
	}
}

// showing is what people look at: reports, and the papers.
func showing() []Package {
	return []Package{
		{"internal/webmap", "the map of items that pages share, as a script and a style sheet", ""},
		{"internal/report", "figures and self-contained HTML from plain structs",
			"internal/escape internal/atomic internal/webmap gonum.org/v1/plot golang.org/x/image"},
		{"internal/report/photo", "the pictures of items, read for the pages",
			"internal/budget internal/regular internal/par data data/imaging internal/report"},
		{"internal/review", "the page on which a person decides about kinds and suspects",
			"internal/atomic internal/regular golang.org/x/image"},
		{"internal/review/kinds", "what discover found, in names, tables and such a page",
			"internal/spell discover internal/review"},
		{"internal/review/suspects", "what clean found, in words, tables and such a page; folds trained for it",
			"internal/spell mat data run clean internal/review"},
		{"internal/report/retrieval", "queries chosen and laid out with their neighbours",
			"mat eval/rank internal/report internal/report/photo"},
		{"internal/report/maps", "embeddings in the plane, as the maps of pages", "mat embedding internal/report"},
		{"internal/report/runs", "run folders compared",
			"data embedding projection run internal/report internal/report/maps internal/report/photo " +
				"internal/report/retrieval"},
		{"internal/report/swept", "a sweep laid out as a page", "sweep internal/report"},
		{"internal/report/verified", "decisions laid out as a page: DET, ROC and the distances of both kinds of pairs",
			"eval eval/verify internal/report"},
		{"internal/report/diagnosed", "a diagnosis laid out for the report", "eval/diagnose internal/report"},
		{"internal/repro/theory", "the package comment: what its parts compute", ""},
		{"internal/repro/theory/lp", "small linear programs", ""},
		{"internal/repro/theory/noise", "expected losses under label noise, and their minimisers", "internal/par"},
		{"internal/repro/theory/isometry",
			"distance to the nearest triplet-separated arrangement, with certificates",
			"internal/par internal/repro/theory/lp gonum.org/v1/gonum"},
		{"internal/repro/theory/field", "how steps move triplets on the scatter diagram",
			"internal/par internal/spell mat internal/pair loss"},
		{"internal/repro/theory/pages", "what `kindred theory` computes, draws and explains",
			"internal/atomic internal/par mat objective embedding run internal/report internal/repro/theory/noise " +
				"internal/repro/theory/isometry internal/repro/theory/field"},
		{"internal/repro/paper", "the papers' experiments as data, their statements and their runners",
			"internal/par internal/spell internal/atomic internal/lock internal/yamltext jobs embedding mat " +
				"train run sweep eval eval/rank eval/cluster eval/diagnose internal/repro/theory/noise " +
				"internal/repro/theory/isometry internal/repro/theory/field data data/imaging nn objective " +
				"internal/report internal/report/maps internal/report/photo internal/report/retrieval " +
				"internal/report/diagnosed internal/detection projection discover clean decide " +
				"golang.org/x/image golang.org/x/sync gonum.org/v1/gonum github.com/goccy/go-yaml"},
	}
}

// serving is collections of items behind HTTP.
func serving() []Package {
	return []Package{
		{"internal/queue", "jobs handed to workers on other machines through NATS JetStream; how these are started",
			"internal/budget internal/option internal/regular internal/spell jobs " +
				"github.com/nats-io/nats.go golang.org/x/sync"},
		{"internal/embedded", "the NATS server of a queue in a folder, in this process",
			"internal/atomic internal/lock internal/regular github.com/nats-io/nats-server/v2"},
		{"internal/remotedata", "data sets at s3:// and https://: listed, read whole or by ranges, checked",
			"internal/budget data github.com/minio/minio-go/v7"},
		{"internal/cli", "what the command lines of kindred and kindred-gpu share: global flags, training",
			"internal/budget internal/option internal/remotedata internal/report/runs internal/weights " +
				"internal/yamltext data " +
				"embedding embedding/parquet objective run github.com/spf13/cobra github.com/spf13/pflag"},
		{"internal/plan", "what a large collection would need on each engine, from measured constants", ""},
		{"internal/work", "what workers can do: shards of embed and eval, runs of experiments and of sweeps",
			"internal/atomic internal/budget internal/lock internal/regular internal/repro/paper data embedding " +
				"eval/rank jobs mat run sweep train"},
		{"store/internal/driver", "what drivers share: ids as UUIDs, columns as words, addresses of clusters",
			"store github.com/google/uuid"},
		{"store/pgvector", "a table of PostgreSQL with pgvector as such an engine",
			"store filter internal/strictjson github.com/jackc/pgx/v5"},
		{"store/weaviate", "a collection of Weaviate as such an engine",
			"store filter internal/escape store/internal/driver internal/strictjson"},
		{"store/qdrant", "a collection of Qdrant as such an engine",
			"store filter store/internal/driver internal/strictjson github.com/qdrant/go-client " +
				"google.golang.org/grpc"},
		{"serve/api", "the messages of `kindred serve`, and a client", "internal/strictjson opt store"},
		{"serve", "searches and changes over HTTP; who may, how much, and what it tells of itself",
			"internal/atomic internal/budget internal/escape internal/regular internal/review internal/strictjson " +
				"mat data data/imaging eval/rank eval/diagnose projection decide opt run store filter serve/api " +
				"github.com/prometheus/client_golang golang.org/x/image golang.org/x/time"},
		{"internal/page", "the page that `kindred serve` shows: search, walk, filter, map, compare",
			"internal/webmap internal/review"},
	}
}

// repository is what belongs to the repository more than to the library, and the
// command.
func repository() []Package {
	return []Package{
		{"internal/refdata",
			"for tests: reference values in the repository, and the optional data beside it",
			"github.com/sbinet/npyio"},
		{"internal/storetest",
			"for tests: a store in memory that can be told to fail, the checks that every store has to pass, and " +
				"databases that a test starts", "store filter"},
		{"internal/fakeqdrant", "for tests: a server of Qdrant's protocol that keeps points in memory",
			"github.com/qdrant/go-client google.golang.org/grpc"},
		{"internal/queuetest", "for tests: three NATS servers on this machine", "github.com/nats-io/nats-server/v2"},
		{"internal/netcases", "for tests: small networks with every kind of layer, for each engine to run", "nn"},
		{"internal/ctxtest", "for tests: a context that is cancelled at its n-th look, which shows without a clock " +
			"that a computation stops", ""},
		{"internal/budgettest", "for tests: the limit on memory set, and the memory measured that a reader takes",
			"internal/budget"},
		{"internal/powertest", "for tests: what a disk may hold after a loss of power, from the steps that were made",
			"internal/atomic internal/lock"},
		{"internal/soak", "for tests: a random comparison repeated with one seed after another; damaged files for " +
			"every reader", ""},
		{"internal/browser", "for tests: every kind of page opened in Chromium, looked at and used", ""},
		{"internal/readme", "for tests: README's commands run and its links lead somewhere", ""},
		{"internal/ladder", "this table", ""},
		{"internal/systems", "checks the types of all packages and tests as on other systems: `make cross`",
			"golang.org/x/tools"},
		{"internal/bench",
			"the timed cases of `kindred bench`, the peer beside them, docs/bench.md from their records", "*"},
		{"docs/recording", "films README's three commands with what they print and find",
			"internal/atomic internal/escape internal/layout/idx internal/report golang.org/x/image"},
		{"docs/gen", "writes docs/losses and docs/policies from doc comments, docs/bench.md and README's table from " +
			"records, the tables of pretrained networks and of packages",
			"internal/atomic internal/ladder internal/weights internal/bench mine objective"},
		{"cmd/kindred", "the commands: flags, what is printed, files written; each is tested as a user calls it", "*"},
	}
}
