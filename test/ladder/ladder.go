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
	// packages of this module, which stand above it in the table, and
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

// Floor is a part of the table. What stands on one imports from it and from those
// before it.
type Floor struct {
	Name string
	// Holds says what it is, in one line.
	Holds string
	// Under lists the folders whose packages belong to it, separated by blanks: of two
	// that fit the longer counts. "." is every other one.
	Under    string
	Packages []Package
}

// Has reports how much of a package's path, in letters, is one of the floor's folders;
// -1: it is in none.
func (f *Floor) Has(path string) int {
	most := -1
	for _, folder := range strings.Fields(f.Under) {
		switch {
		case folder == ".":
			most = max(most, 0)
		case path == folder || strings.HasPrefix(path, folder+"/"):
			most = max(most, len(folder))
		}
	}
	return most
}

// Floors returns the table, from what imports nothing to the commands.
func Floors() []Floor {
	return []Floor{
		{"foundations", "files, memory, cores, names and texts, without a thought of learning",
			"internal/base", foundations()},
		{"kernels", "inner loops in assembly and in plain Go",
			"internal/kernel", kernels()},
		{"formats", "files of others and of our own: read within limits, written",
			"format internal/format", formats()},
		{"library", "packages for other programs; they share internal/compute and internal/jobs",
			".", library()},
		{"pages", "reports, the page of a server, and the collections of photos behind them",
			"app", pages()},
		{"services", "search over HTTP; downloads",
			"serve app/remote", services()},
		{"experiments", "the papers' experiments and theory; measurements of time",
			"app/experiments app/bench", experiments()},
		{"programs", "the commands",
			"app/cli cmd", programs()},
		{"repository", "helpers of tests, tests of the whole repository, generators of the documentation",
			"test docs", repository()},
	}
}

// Packages returns the lines of all floors.
func Packages() []Package {
	var all []Package
	for _, f := range Floors() {
		all = append(all, f.Packages...)
	}
	return all
}

func foundations() []Package {
	return []Package{
		{"internal/base/par", "loops on all cores, cut the same way on any machine", ""},
		{"internal/base/lock", "a folder for one process at a time", "golang.org/x/sys"},
		{"internal/base/atomic", "files replaced by rename; what killed processes left removed",
			"internal/base/lock"},
		{"internal/base/budget", "the one limit on memory under every reader and every plan", "golang.org/x/sys"},
		{"internal/base/regular", "opening of input files, which must be regular ones", "internal/base/budget"},
		{"internal/base/within", "what is read for others kept below the folders that were allowed",
			"internal/base/budget internal/base/regular"},
		{"internal/base/half", "16-bit floating-point numbers widened", ""},
		{"internal/base/home", "the folders of what kindred can fetch or compute again", ""},
		{"internal/base/escape", "text from outside made safe for HTML, Markdown and terminals", ""},
		{"internal/base/braces", "names with braces spelled out, as shells do: set-{000..063}.tar", ""},
		{"internal/base/option",
			"numbers left out; errors that name options and keys, which a command calls by its flags", ""},
		{"internal/base/spell", "names of a closed list to numbers and back; what a mistyped one may have meant",
			""},
		{"internal/base/mapped", "files read through memory, which may be cut off meanwhile",
			"internal/base/budget internal/base/regular github.com/edsrzf/mmap-go"},
	}
}

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
		{"internal/kernel/bf16",
			"bfloat16 products: matrix unit (AMX), AVX512_BF16, plain Go with the same rounding",
			"internal/kernel/simd internal/kernel/amx github.com/klauspost/cpuid/v2"},
		{"internal/kernel/qgemm",
			"products of bytes summed in 32 bits, and what turns values into bytes: VPDPBUSD, AVX2, plain Go",
			"internal/kernel/simd github.com/klauspost/cpuid/v2"},
	}
}

func formats() []Package {
	return []Package{
		{"internal/format/plaintext",
			"text files of other programs: byte order marks, line ends, UTF-16; rows of tables within bounds",
			"internal/base/budget"},
		{"internal/format/strictjson", "JSON from outside: bounded, and without what encoding/json mends in silence",
			"internal/base/budget"},
		{"internal/format/yamltext",
			"YAML from outside, parsed within bounds, and taken apart with errors that name the line",
			"internal/base/regular internal/base/spell github.com/goccy/go-yaml"},
		{"format/safetensors", "the safetensors file format",
			"internal/base/budget internal/base/half internal/base/regular internal/format/strictjson"},
		{"internal/format/zipfile", "zip archives whose list of files fits in the limit on memory",
			"internal/base/budget"},
		{"internal/format/torchfile", "weights out of PyTorch's .pth files",
			"internal/base/budget internal/base/regular internal/format/zipfile format/safetensors " +
				"github.com/nlpodyssey/gopickle"},
		{"internal/format/onnx", "the ONNX format: graphs of operators with their weights",
			"internal/base/budget internal/base/escape internal/base/regular format/safetensors " +
				"google.golang.org/protobuf"},
		{"internal/format/jpeg", "baseline JPEG, quickly, into reused memory", "internal/base/budget"},
		{"internal/format/tiff", "TIFF, as libtiff reads it",
			"internal/base/budget internal/format/jpeg github.com/klauspost/compress golang.org/x/image"},
		{"internal/format/idx", "the idx format of MNIST and its kin",
			"internal/base/budget internal/base/regular"},
		{"internal/format/tarfile", "the places of the members of tar files", ""},
		{"internal/format/matfile", "MATLAB 5 files, as annotations come in", "internal/base/budget"},
		{"internal/format/rows",
			"rows of numbers kept in a file, each under the digest of what it was computed from",
			"internal/base/atomic format/safetensors"},
		{"internal/format/packed", "decoded images in one memory-mapped file",
			"internal/base/budget internal/base/regular internal/base/atomic internal/base/mapped " +
				"github.com/edsrzf/mmap-go"},
		{"internal/format/tfevents", "event files as TensorBoard reads them", "google.golang.org/protobuf"},
	}
}

func library() []Package {
	root := Package{".", "nothing: its comment is the module's front page", ""}
	return slices.Concat([]Package{root}, learning(), samples(), measuring(), searching(), running())
}

// learning goes from a batch's embeddings to their gradient, and from there through a network.
func learning() []Package {
	return []Package{
		{"nn/internal/conv", "channels-last convolution, forward and backward, as implicit matrix products",
			"internal/base/par internal/kernel/simd internal/kernel/bf16"},
		{"nn/internal/qconv", "the convolutions of networks evaluated in 8 bits, from packed filters",
			"internal/base/par internal/kernel/qgemm nn/internal/conv"},
		{"nn/internal/attention", "multi-head attention, forward and backward, in blocks of queries",
			"internal/base/par internal/kernel/simd internal/kernel/bf16"},
		{"mat", "Dense float32, matrix products, norms, pairwise distances in blocks",
			"internal/base/par internal/kernel/simd"},
		{"internal/compute/exact/coded",
			"rows coded in 8 or 16 bits or float32: scores of blocks of them, and what coding took",
			"internal/base/par internal/kernel/dot8 internal/kernel/dot16 mat"},
		{"internal/compute/itself", "which items of a gallery are the query: the same file, a copy, the same bits",
			"internal/base/regular"},
		{"internal/compute/cosine", "cosines rounded once, so that equal ones tie, and parallel rows", ""},
		{"internal/compute/exact",
			"which rows are nearest, by fast scores of blocks and exact ones of what these leave open",
			"internal/base/budget internal/base/par internal/kernel/simd internal/kernel/dot8 internal/kernel/dot16 " +
				"internal/kernel/scan mat internal/compute/exact/coded internal/compute/cosine"},
		{"internal/compute/pair", "a batch seen as pairs; tuples; pair weights turned into dL/dE",
			"internal/base/par internal/kernel/scan internal/kernel/simd internal/kernel/bf16 " +
				"internal/base/spell mat"},
		{"mine", "positive x negative policies: a pair batch in, tuples out",
			"internal/base/option internal/base/par internal/kernel/scan internal/kernel/simd " +
				"internal/base/spell mat internal/compute/pair"},
		{"loss", "a pair batch and tuples in, value and pair weights out; own parameters",
			"internal/base/option internal/base/par internal/kernel/scan internal/kernel/simd " +
				"internal/base/spell mat internal/compute/pair"},
		{"objective", "a loss with its miner, from options to value and gradient",
			"internal/base/budget internal/base/option internal/base/spell internal/base/par mat " +
				"internal/compute/pair mine loss"},
		{"nn", "network description; CPU engine that runs and trains it",
			"internal/base/budget internal/base/regular internal/base/spell internal/base/par " +
				"internal/kernel/simd internal/kernel/bf16 internal/kernel/qgemm nn/internal/conv " +
				"nn/internal/attention nn/internal/qconv internal/base/atomic mat format/safetensors " +
				"internal/format/strictjson"},
		{"nn/zoo", "the networks that are known by name; weights that others trained for them",
			"internal/base/spell format/safetensors internal/format/torchfile nn"},
		{"nn/onnxnet", "ONNX models turned into networks, and networks into ONNX models",
			"internal/base/budget internal/base/escape internal/format/onnx format/safetensors nn nn/zoo"},
		{"nn/optim", "Adam, AdamW, SGD; schedules, clipping, rates by group",
			"internal/base/par internal/base/spell internal/kernel/simd nn format/safetensors"},
	}
}

// samples are read, prepared and batched.
func samples() []Package {
	return []Package{
		{"embedding/internal/columns", "what the columns of a table of embeddings are called",
			"internal/format/plaintext"},
		{"embedding", "embeddings and labels from and to files",
			"internal/base/budget internal/base/half embedding/internal/columns internal/base/regular " +
				"internal/base/atomic " +
				"internal/format/plaintext internal/format/strictjson internal/format/zipfile mat format/safetensors"},
		{"embedding/parquet", "Parquet for package embedding, apart so that only who wants it links its library",
			"internal/base/budget internal/base/half embedding/internal/columns mat embedding " +
				"github.com/parquet-go/parquet-go " +
				"github.com/andybalholm/brotli github.com/klauspost/compress internal/format/strictjson"},
		{"data/imaging", "decode, resize, augment and normalise one image",
			"internal/base/budget internal/base/spell internal/format/jpeg internal/format/tiff " +
				"internal/kernel/pix " +
				"internal/kernel/simd golang.org/x/image"},
		{"data", "data sets in their layouts, label rules, splits, loaders, class-balanced batches",
			"internal/base/braces internal/base/budget internal/base/home internal/base/option internal/base/regular " +
				"internal/base/within internal/base/par internal/base/spell internal/base/atomic mat embedding " +
				"internal/format/idx " +
				"internal/format/matfile internal/format/tarfile internal/format/zipfile data/imaging " +
				"internal/format/packed " +
				"internal/format/plaintext golang.org/x/text internal/format/strictjson"},
	}
}

// measuring says how good embeddings are.
func measuring() []Package {
	return []Package{
		{"eval/rank", "the ranks of every query's positives in a gallery, exactly",
			"internal/base/budget internal/base/regular internal/base/spell internal/base/par mat " +
				"internal/compute/exact internal/compute/itself"},
		{"eval/cluster", "k-means; scores of a partition against labels",
			"internal/base/spell internal/base/par internal/kernel/dot16 mat internal/compute/exact"},
		{"internal/compute/ward", "rows agglomerated by Ward's criterion", "mat"},
		{"internal/compute/groups", "groups of classes that lie together, by Ward's tree and silhouettes",
			"internal/base/par internal/compute/ward mat"},
		{"eval", "metrics by name over ranks, clusterings and decisions by a threshold; reports",
			"internal/base/escape internal/base/budget internal/base/par internal/compute/groups " +
				"internal/format/plaintext mat eval/rank eval/cluster gonum.org/v1/gonum"},
		{"discover", "which classes of an embedding hold several kinds of things, and the kinds inside them",
			"internal/base/spell internal/base/par internal/compute/ward mat eval/rank gonum.org/v1/gonum"},
		{"eval/diagnose", "collapse diagnosis",
			"internal/base/escape internal/base/option internal/base/spell internal/base/par " +
				"internal/kernel/dot16 mat eval " +
				"eval/rank eval/cluster discover gonum.org/v1/gonum"},
		{"internal/compute/detection", "wrong labels to look for, and how well scores tell them", "mat"},
		{"clean", "wrong labels, copies, items unlike anything and classes that overlap",
			"internal/base/par internal/compute/detection mat eval/rank gonum.org/v1/gonum golang.org/x/image"},
		{"decide", "decisions with a stated error on classes never seen: same or not, who is it, unknown",
			"internal/base/atomic internal/base/budget internal/base/regular internal/format/strictjson " +
				"internal/base/par internal/compute/groups mat eval/rank gonum.org/v1/gonum"},
		{"projection", "two-dimensional maps of embeddings: PCA, t-SNE",
			"internal/base/spell internal/base/par internal/kernel/simd mat eval/rank gonum.org/v1/gonum"},
	}
}

// searching keeps items with their vectors.
func searching() []Package {
	return []Package{
		{"store", "items, filters, what an engine can do that holds them; the contract between servers and engines",
			"internal/base/escape internal/base/spell"},
		{"internal/compute/exact/nearest", "the rows nearest to queries, exactly, in rows coded beforehand",
			"internal/base/par internal/base/mapped internal/kernel/dot16 mat internal/compute/exact " +
				"internal/compute/exact/coded internal/compute/cosine"},
		{"index",
			"items with their vectors in a folder: durable changes, filters, exact search and search in lists",
			"internal/base/atomic internal/base/budget internal/base/escape internal/base/lock " +
				"internal/base/mapped internal/compute/exact internal/compute/exact/nearest " +
				"internal/base/regular internal/base/spell " +
				"internal/kernel/dot16 mat eval/rank eval/cluster store internal/format/strictjson"},
		{"store/internal/driver", "what drivers share: ids as UUIDs, columns as words, addresses of clusters",
			"store github.com/google/uuid"},
		{"store/pgvector", "a table of PostgreSQL with pgvector as such an engine",
			"store internal/format/strictjson github.com/jackc/pgx/v5"},
		{"store/weaviate", "a collection of Weaviate as such an engine",
			"store internal/base/escape store/internal/driver internal/format/strictjson"},
		{"store/qdrant", "a collection of Qdrant as such an engine",
			"store store/internal/driver internal/format/strictjson github.com/qdrant/go-client " +
				"google.golang.org/grpc"},
	}
}

// running is training, and the work that can be shared among machines.
func running() []Package {
	return []Package{
		{"train", "the loop: batches in, a trained network out; checkpoints; no files, no configuration",
			"internal/base/budget internal/base/par mat loss objective nn nn/optim format/safetensors data " +
				"gonum.org/v1/gonum internal/format/strictjson"},
		{"run/internal/keys", "a configuration read, checked, written and explained by a table of its keys",
			"internal/format/yamltext internal/base/option internal/base/spell github.com/goccy/go-yaml"},
		{"run", "configuration, run folders and who may write them, models loaded and used",
			"internal/format/yamltext internal/base/budget internal/base/option internal/base/spell " +
				"internal/base/regular internal/base/within internal/base/atomic internal/base/home " +
				"internal/base/lock internal/compute/pair internal/kernel/simd internal/format/rows " +
				"internal/format/tfevents mine loss objective mat nn nn/zoo nn/optim nn/onnxnet " +
				"data data/imaging eval eval/rank eval/cluster discover " +
				"eval/diagnose embedding train format/safetensors github.com/goccy/go-yaml " +
				"gonum.org/v1/gonum internal/format/plaintext run/internal/keys"},
		{"internal/jobs",
			"work cut into units that anyone may do again; done in this process, and what they came to " +
				"remembered",
			"internal/base/atomic internal/base/regular internal/format/strictjson"},
		{"sweep", "settings chosen on validation classes: plans, trials, early stopping, winners",
			"internal/base/atomic internal/base/lock internal/base/option internal/base/regular internal/base/spell " +
				"internal/format/yamltext internal/jobs data embedding train run github.com/goccy/go-yaml " +
				"internal/format/strictjson"},
		{"internal/jobs/queue",
			"jobs handed to workers on other machines through NATS JetStream; how these are started",
			"internal/base/budget internal/base/option internal/base/regular internal/base/spell " +
				"internal/format/strictjson internal/jobs github.com/nats-io/nats.go golang.org/x/sync"},
		{"internal/jobs/embedded", "the NATS server of a queue in a folder, in this process",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/regular " +
				"github.com/minio/highwayhash github.com/nats-io/nats-server/v2"},
	}
}

func pages() []Package {
	return []Package{
		{"app/quality",
			"photos that are blurred, dark, blown out, tiny, of an odd shape, like screenshots",
			"internal/base/par data data/imaging"},
		{"app/gallery",
			"what photos are looked up in behind one contract: photos, embeddings, an index, a store",
			"internal/base/spell internal/compute/itself mat data embedding eval/rank decide store index run " +
				"golang.org/x/sync"},
		{"app/mirror/changes",
			"two listings of photos compared: what was added, changed, moved, relabelled, removed", ""},
		{"app/mirror/watch", "a function called when something in a folder has changed",
			"github.com/fsnotify/fsnotify"},
		{"app/mirror", "an index brought to what a folder of photos holds, in one change",
			"internal/base/budget app/mirror/changes data data/imaging index run store"},
		{"app/page/webmap", "the map of items that pages share, as a script and a style sheet", ""},
		{"app/page/look", "what all pages have in common: colours by light and dark, the type, what a file may do",
			"maragu.dev/gomponents"},
		{"app/page/report", "figures and self-contained HTML from plain structs",
			"internal/base/escape internal/base/atomic app/page/look app/page/webmap gonum.org/v1/plot " +
				"golang.org/x/image maragu.dev/gomponents"},
		{"app/page/report/photo", "the pictures of items, read for the pages",
			"internal/base/budget internal/base/regular internal/base/par data data/imaging " +
				"app/page/report"},
		{"app/page/review", "the page on which a person decides about kinds and suspects",
			"internal/base/atomic internal/base/regular app/page/look golang.org/x/image " +
				"maragu.dev/gomponents internal/format/strictjson"},
		{"app/page/review/kinds", "what discover found, in names, tables and such a page",
			"internal/base/spell discover app/page/review"},
		{"app/page/review/suspects",
			"what clean found, in words, tables and such a page; folds trained for it",
			"internal/base/spell app/quality mat data run clean app/page/review"},
		{"app/page/report/retrieval", "queries chosen, or given, and laid out with their neighbours",
			"mat data eval/rank decide internal/base/spell app/gallery app/page/report " +
				"app/page/report/photo"},
		{"app/page/report/maps", "embeddings placed in the plane, and the maps of pages",
			"mat embedding projection app/page/report"},
		{"app/page/report/runs", "run folders compared",
			"data embedding projection train run app/page/report app/page/report/maps " +
				"app/page/report/photo app/page/report/retrieval"},
		{"app/page/report/swept", "a sweep laid out as a page", "sweep app/page/report"},
		{"app/page/report/verified",
			"decisions laid out as a page: DET, ROC and the distances of both kinds of pairs",
			"eval app/page/report"},
		{"app/page/report/diagnosed", "a diagnosis laid out for the report",
			"internal/base/option eval/diagnose app/page/report"},
		{"app/page", "the page that `kindred serve` shows: search, walk, filter, map, compare",
			"app/page/look app/page/webmap app/page/review"},
	}
}

func services() []Package {
	return []Package{
		{"app/remote/download", "files from HTTP servers: resumed, bounded, checked, then renamed",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/regular"},
		{"app/remote/weights", "pretrained networks by name: their files, fetched and cached",
			"internal/base/budget app/remote/download internal/base/home internal/base/option " +
				"internal/base/regular internal/base/spell internal/format/torchfile"},
		{"app/remote/fetch", "`kindred data get`: known sets, their files and where they come from",
			"internal/base/budget internal/base/regular internal/base/lock internal/base/atomic " +
				"app/remote/download data internal/format/idx"},
		{"app/remote/remotedata", "data sets at s3:// and https://: listed, read whole or by ranges, checked",
			"internal/base/braces internal/base/budget internal/format/zipfile app/remote/download data " +
				"github.com/minio/minio-go/v7"},
		{"serve/api", "the messages of `kindred serve`, and a client", "internal/format/strictjson store"},
		{"serve", "searches and changes over HTTP; who may, how much, and what it tells of itself",
			"internal/base/atomic internal/base/budget internal/base/escape internal/base/option " +
				"internal/base/regular app/page/review internal/format/strictjson mat data data/imaging " +
				"eval/rank eval/diagnose " +
				"projection decide internal/compute/itself app/gallery run store serve/api " +
				"github.com/prometheus/client_golang golang.org/x/image golang.org/x/time"},
	}
}

func experiments() []Package {
	return []Package{
		{"app/experiments/theory", "the package comment: what its parts compute", ""},
		{"app/experiments/theory/lp", "small linear programs", ""},
		{"app/experiments/theory/noise", "expected losses under label noise, and their minimisers",
			"internal/base/par"},
		{"app/experiments/theory/isometry",
			"distance to the nearest triplet-separated arrangement, with certificates",
			"internal/base/par app/experiments/theory/lp gonum.org/v1/gonum"},
		{"app/experiments/theory/field", "how steps move triplets on the scatter diagram",
			"internal/base/par internal/base/spell mat internal/compute/pair loss"},
		{"app/experiments/theory/pages", "what `kindred theory` computes, draws and explains",
			"internal/base/atomic internal/base/par mat objective embedding run app/page/report " +
				"app/experiments/theory/noise app/experiments/theory/isometry app/experiments/theory/field"},
		{"app/experiments/promises", "what is promised, tried on drawn classes: `make promises`",
			"clean decide discover eval eval/rank mat gonum.org/v1/gonum"},
		{"app/experiments/paper", "the papers' experiments as data, their statements and their runners",
			"internal/base/home internal/base/par internal/base/spell internal/base/atomic internal/base/lock " +
				"internal/base/within internal/format/yamltext internal/jobs embedding mat train run sweep " +
				"eval eval/rank eval/cluster " +
				"eval/diagnose app/experiments/theory/noise app/experiments/theory/isometry " +
				"app/experiments/theory/field data data/imaging nn objective app/page/report " +
				"app/page/report/maps app/page/report/photo app/page/report/retrieval " +
				"app/page/report/diagnosed internal/compute/detection projection discover clean decide " +
				"golang.org/x/image golang.org/x/sync gonum.org/v1/gonum github.com/goccy/go-yaml"},
		{"app/bench",
			"the timed cases of `kindred bench`, the peer beside them, docs/bench.md from their records",
			"*"},
	}
}

func programs() []Package {
	return []Package{
		{"app/cli/inspect", "what `kindred data info` finds out about a set",
			"internal/base/budget internal/base/par internal/base/atomic app/quality data data/imaging " +
				"golang.org/x/image"},
		{"app/cli/progress", "a run's progress on a terminal",
			"train github.com/schollz/progressbar/v3 golang.org/x/term"},
		{"app/cli", "what the command lines of kindred and kindred-gpu share: global flags, training",
			"internal/base/budget internal/base/option app/remote/remotedata app/page/report/runs " +
				"app/remote/weights internal/format/yamltext data embedding embedding/parquet objective run " +
				"github.com/spf13/cobra github.com/spf13/pflag"},
		{"app/cli/contents", "what a network, a file of ONNX or a file of weights consists of",
			"format/safetensors internal/format/onnx nn"},
		{"app/cli/results", "the files of a command, written together; those that a killed one left",
			"internal/base/atomic internal/base/regular internal/format/strictjson"},
		{"app/cli/explain", "a loss on one batch: its value, tuples and gradient, as `kindred loss` prints them",
			"embedding mat objective"},
		{"app/cli/origin", "which network made vectors: its digest and preparation; networks beside indexes",
			"internal/base/regular nn embedding decide index run"},
		{"app/cli/calibrations",
			"where the calibration of a network, an index or embeddings is, and what it says",
			"decide run app/cli/origin"},
		{"app/cli/calibrate", "what a calibration is learned from, of a run, an index or embeddings; folds",
			"internal/base/escape internal/base/spell mat nn/optim data embedding eval/rank decide store index run " +
				"app/cli app/cli/origin"},
		{"app/cli/items",
			"photos and embeddings added to an index or a store of a database, and what was found in it as text",
			"internal/base/budget mat embedding embedding/parquet data data/imaging eval/rank decide store index run " +
				"app/mirror app/gallery app/page/report/retrieval app/cli/origin"},
		{"app/cli/identify", "what is on photos that are looked up in a gallery with labels, and a summary",
			"data decide eval/rank app/gallery app/cli"},
		{"app/cli/reviewed", "the items that discover and clean look at, from a run or a file of embeddings",
			"mat embedding data eval/rank run app/page/review app/page/report/photo app/cli/items"},
		{"app/cli/card", "the model card of an exported network, and weights that describe themselves",
			"format/safetensors decide app/cli/contents nn/onnxnet run train"},
		{"app/cli/trials", "what calibrations promised and what was measured, as text",
			"internal/base/escape internal/base/spell decide"},
		{"app/cli/plan", "what a large collection would need on each engine, from measured constants", ""},
		{"app/cli/work", "what workers can do: shards of embed and eval, runs of experiments and of sweeps",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/regular internal/base/within " +
				"app/experiments/paper data embedding eval/rank internal/jobs mat run sweep train " +
				"internal/format/strictjson"},
		{"cmd/kindred", "the commands: flags, what is printed, files written; each is tested as a user calls it",
			"*"},
	}
}

func repository() []Package {
	return []Package{
		{"test/refdata",
			"for tests: reference values in the repository, and the optional data beside it",
			"github.com/sbinet/npyio"},
		{"test/storetest",
			"for tests: a store in memory that can be told to fail, the checks that every store has to pass, " +
				"and databases that a test starts",
			"store"},
		{"test/fakeqdrant", "for tests: a server of Qdrant's protocol that keeps points in memory",
			"github.com/qdrant/go-client google.golang.org/grpc"},
		{"test/queuetest", "for tests: three NATS servers on this machine",
			"github.com/nats-io/nats-server/v2"},
		{"test/netcases", "for tests: small networks with every kind of layer, for each engine to run",
			"nn"},
		{"test/rowtest", "for tests: kinds of rows that comparing must get right", "mat"},
		{"test/ranktest", "for tests: goroutines as the ranks of one training", ""},
		{"test/ctxtest",
			"for tests: a context that is cancelled at its n-th look, which shows without a clock that a " +
				"computation stops",
			""},
		{"test/budgettest",
			"for tests: the limit on memory set, and the memory measured that a reader takes",
			"internal/base/budget"},
		{"test/mutations",
			"for tests: valid texts changed by chance, and readers that have to refuse or take each",
			"test/budgettest"},
		{"test/powertest",
			"for tests: what a disk may hold after a loss of power, from the steps that were made",
			"internal/base/atomic internal/base/lock"},
		{"test/soak",
			"for tests: a random comparison repeated with one seed after another; damaged files for every " +
				"reader",
			""},
		{"test/browser", "for tests: every kind of page opened in Chromium, looked at and used", ""},
		{"test/readme", "for tests: README's commands run and its links lead somewhere", ""},
		{"test/ladder", "this table", ""},
		{"test/stress", "runs tests many times in hard conditions, and counts failures: `make stress`", ""},
		{"test/systems", "checks the types of all packages and tests as on other systems: `make cross`",
			"golang.org/x/tools"},
		{"docs/gallery", "takes the pictures of docs/gallery.md", "internal/base/atomic"},
		{"docs/recording", "films README's three commands with what they print and find",
			"internal/base/atomic internal/base/escape internal/format/idx app/page/report " +
				"golang.org/x/image"},
		{"docs/site", "makes a static site of README and docs, with a search that needs no server",
			"internal/base/atomic github.com/yuin/goldmark"},
		{"docs/gen",
			"writes docs/losses and docs/policies from doc comments, docs/bench.md and README's table from " +
				"records, the tables of pretrained networks and of packages",
			"internal/base/atomic test/ladder app/remote/weights app/bench mine objective"},
	}
}
