// Package ladder is the table of this module's packages: their purposes and the
// packages that they may import. docs/design/architecture.md shows it, and a test
// compares it with the actual imports.
package ladder

import (
	"slices"
	"strings"
)

// Package is a line of the table.
type Package struct {
	// Path is relative to the module's path; "." is the root.
	Path string
	// Holds is the purpose of the package, as a line of Markdown.
	Holds string
	// Imports lists what the package may import outside its tests, separated by
	// blanks: packages of this module, which must be above it in the table, and
	// other modules. "*" allows all. The standard library is always allowed.
	Imports string
}

// MayImport reports whether p may import a package. A package of this module is given by its
// path relative to the module's, another package by its whole path.
func (p *Package) MayImport(path string) bool {
	return slices.ContainsFunc(strings.Fields(p.Imports), func(allowed string) bool {
		return allowed == "*" || allowed == path || isModule(allowed) && strings.HasPrefix(path, allowed+"/")
	})
}

// isModule reports whether a path is another module, not a package of this one.
func isModule(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

// Floor is a part of the table. Its packages import from their own floor and from the
// floors before it.
type Floor struct {
	Name string
	// Holds describes the floor in one line.
	Holds string
	// Under lists the folders whose packages belong to the floor, separated by blanks.
	// If two folders fit a package, the longer counts. "." fits every package.
	Under    string
	Packages []Package
}

// FolderLen returns the length of the floor's longest folder that contains the package, or -1
// if the package is in none of its folders.
func (f *Floor) FolderLen(path string) int {
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

// Floors returns the table, from the packages that import nothing to the commands.
func Floors() []Floor {
	return []Floor{
		{"foundations", "files, memory, cores, names and texts",
			"internal/base", foundations()},
		{"kernels", "inner loops in assembly and in plain Go",
			"internal/kernel", kernels()},
		{"formats", "file formats, read within limits",
			"internal/format nn/safetensors", formats()},
		{"library", "packages for other programs; they share internal/compute and internal/jobs",
			". serve/api", library()},
		{"pages", "reports, the page of a server, and the collections of photos behind them",
			"internal/page internal/collection internal/app", pages()},
		{"services", "search over HTTP; downloads",
			"serve internal/app/remote", services()},
		{"experiments", "the papers' experiments and theory; measurements of time",
			"internal/app/experiments internal/app/bench", experiments()},
		{"programs", "the commands",
			"internal/app/cli cmd", programs()},
		{"repository", "helpers of tests, tests of the whole repository, generators of the documentation",
			"internal/test docs", repository()},
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
		{"internal/base/lists", "the loops over lists that many packages need", ""},
		{"internal/base/par", "loops on all cores, divided the same way on every machine", ""},
		{"internal/base/critical", "what a signal must not cut short", ""},
		{"internal/base/batch", "runs the jobs of several goroutines together", ""},
		{"internal/base/lock", "locks a folder for one process", "golang.org/x/sys"},
		{"internal/base/atomic", "writes files by rename, and removes what killed processes left",
			"internal/base/lock"},
		{"internal/base/budget", "the limit on memory of every reader and every plan", "golang.org/x/sys"},
		{"internal/base/fileinfo", "opens input files, which must be regular files", "internal/base/budget"},
		{"internal/base/rootfs", "opens files for other people below allowed folders only",
			"internal/base/budget internal/base/fileinfo"},
		{"internal/base/classname",
			"which classes are the same: columns of classes, spaces at the ends of names",
			""},
		{"internal/base/float16", "widens 16-bit floating-point numbers", ""},
		{"internal/base/home", "the folders of caches and data sets", ""},
		{"internal/base/escape", "makes text from outside safe for HTML, Markdown and terminals", ""},
		{"internal/base/braces", "expands names with braces as shells do: set-{000..063}.tar", ""},
		{"internal/base/option",
			"optional numbers; errors that name an option, and by which flag a command sets it",
			""},
		{"internal/base/enum", "enumerations as text, with suggestions for mistyped names; counts in words",
			""},
		{"internal/base/mappedfile", "memory-mapped files, safe if the file is truncated meanwhile",
			"internal/base/budget internal/base/fileinfo github.com/edsrzf/mmap-go"},
	}
}

func kernels() []Package {
	return []Package{
		{"internal/kernel/simd", "float32 kernels: AVX-512, AVX2 with FMA, NEON, plain Go; dispatch",
			"github.com/klauspost/cpuid/v2"},
		{"internal/kernel/amx", "whether the matrix unit (AMX) may be used", "github.com/klauspost/cpuid/v2"},
		{"internal/kernel/dot8", "exact dot products of 8-bit rows, and the error of rounding to 8 bits",
			"internal/kernel/simd internal/kernel/amx github.com/klauspost/cpuid/v2"},
		{"internal/kernel/dot16", "exact dot products of 16-bit rows, and their filter",
			"internal/kernel/simd github.com/klauspost/cpuid/v2"},
		{"internal/kernel/scan", "kernels over a row of similarities: extremes, thresholds, exponentials",
			"internal/kernel/simd"},
		{"internal/kernel/pix", "kernels of 8-bit pixels: resampling, normalization, colours",
			"internal/kernel/simd"},
		{"internal/kernel/fft", "Fourier transforms of many sequences together, in float64",
			"internal/kernel/simd"},
		{"internal/kernel/bf16", "bfloat16 products: AMX, AVX512_BF16, plain Go with the same rounding",
			"internal/kernel/simd internal/kernel/amx github.com/klauspost/cpuid/v2"},
		{"internal/kernel/qgemm", "products of bytes summed in 32 bits: VPDPBUSD, SDOT, AVX2, plain Go",
			"internal/kernel/simd github.com/klauspost/cpuid/v2"},
	}
}

func formats() []Package {
	return []Package{
		{"internal/format/plaintext",
			"text files of other programs: byte order marks, line ends, UTF-16, tables",
			"internal/base/budget"},
		{"internal/format/strictjson", "JSON from outside: bounded, and without the repairs of encoding/json",
			"internal/base/budget"},
		{"internal/format/yamltext", "YAML from outside: bounded, with errors that name the line",
			"internal/base/fileinfo internal/base/enum github.com/goccy/go-yaml"},
		{"internal/format/tokenizer", "tokenizer.json of Hugging Face: texts into the ids of their tokens",
			"internal/base/fileinfo internal/format/strictjson github.com/rivo/uniseg golang.org/x/text"},
		{"nn/safetensors", "the safetensors format",
			"internal/base/budget internal/base/float16 internal/base/fileinfo internal/format/strictjson"},
		{"internal/format/zipfile", "zip archives whose list of files fits in the limit on memory",
			"internal/base/budget"},
		{"internal/format/torchfile", "weights from PyTorch .pth files",
			"internal/base/budget internal/base/fileinfo internal/format/zipfile nn/safetensors " +
				"github.com/nlpodyssey/gopickle"},
		{"internal/format/onnx", "the ONNX format: graphs of operators and their weights",
			"internal/base/budget internal/base/escape internal/base/fileinfo nn/safetensors " +
				"google.golang.org/protobuf"},
		{"internal/format/jpeg", "a fast JPEG decoder that reuses memory",
			"internal/base/budget internal/kernel/pix"},
		{"internal/format/wasm",
			"runs decoders compiled to WebAssembly in a sandbox, with bounded memory and work",
			"internal/base/budget github.com/edsrzf/mmap-go github.com/tetratelabs/wazero"},
		{"internal/format/isobmff", "the structure of HEIC and AVIF files", "internal/base/budget"},
		{"internal/format/colourspace", "converts the colour spaces that pictures declare to sRGB", ""},
		{"internal/format/avif", "decodes AVIF in the sandbox", "internal/format/wasm"},
		{"internal/format/jxl", "decodes JPEG XL in the sandbox",
			"internal/format/colourspace internal/format/isobmff internal/format/wasm " +
				"github.com/dsnet/compress"},
		{"internal/format/heic", "decodes HEIC in the sandbox, by a decoder that users fetch",
			"internal/base/budget internal/base/home internal/base/fileinfo internal/format/isobmff " +
				"internal/format/wasm"},
		{"internal/format/idx", "the idx format of MNIST", "internal/base/budget internal/base/fileinfo"},
		{"internal/format/tarfile", "the positions of the members of tar files", ""},
		{"internal/format/matfile", "MATLAB 5 files, a format of annotations", "internal/base/budget"},
		{"internal/format/columns", "the column names of tables of embeddings", "internal/format/plaintext"},
		{"internal/format/rows", "rows of numbers in a file, each under the digest of its input",
			"internal/base/atomic nn/safetensors"},
		{"internal/format/imagepack", "decoded images in one memory-mapped file",
			"internal/base/budget internal/base/fileinfo internal/base/atomic internal/base/mappedfile " +
				"github.com/edsrzf/mmap-go"},
		{"internal/format/tfevents", "event files for TensorBoard", "google.golang.org/protobuf"},
	}
}

func library() []Package {
	root := Package{".", "the front page of the module, as a package comment", ""}
	return slices.Concat([]Package{root}, learning(), samples(), measuring(), searching(), running())
}

// learning has the packages of losses and networks, from embeddings to gradients.
func learning() []Package {
	return []Package{
		{"internal/network/conv",
			"channels-last convolution, forward and backward, as implicit matrix products",
			"internal/base/par internal/kernel/simd internal/kernel/bf16"},
		{"internal/network/qconv", "8-bit convolutions from packed filters",
			"internal/base/par internal/kernel/qgemm internal/network/conv"},
		{"internal/network/attention", "multi-head attention, forward and backward, in blocks of queries",
			"internal/base/par internal/kernel/simd internal/kernel/bf16"},
		{"matrix", "float32 matrices, matrix products, pairwise distances in blocks",
			"internal/base/par internal/kernel/simd"},
		{"internal/network/graphrun/tensor", "tensors of ONNX graphs: the rules of their shapes, and their memory",
			"internal/base/budget internal/format/onnx"},
		{"internal/network/graphrun/operator", "the operators of ONNX on tensors of any axes",
			"internal/base/budget internal/base/par internal/format/onnx internal/kernel/simd matrix " +
				"internal/network/graphrun/tensor"},
		{"internal/network/graphrun/product",
			"the operators of ONNX that multiply matrices: Einsum, attention, products of integers",
			"internal/format/onnx internal/kernel/simd matrix internal/network/graphrun/tensor " +
				"internal/network/graphrun/operator"},
		{"internal/network/graphrun/spatial",
			"the operators of ONNX with windows and positions: convolutions, pools, resampling",
			"internal/base/budget internal/format/onnx internal/kernel/simd matrix " +
				"internal/network/graphrun/tensor internal/network/graphrun/operator " +
				"internal/network/graphrun/product"},
		{"internal/network/graphrun", "programs of ONNX graphs, run as they stand on the kernels of the engine",
			"internal/base/budget internal/base/escape internal/format/onnx internal/network/conv " +
				"internal/network/graphrun/tensor internal/network/graphrun/operator " +
				"internal/network/graphrun/product internal/network/graphrun/spatial"},
		{"internal/compute/exact/quantized",
			"rows coded in 8 bits, 16 bits or float32: scores of blocks, and the error of coding",
			"internal/base/par internal/kernel/dot8 internal/kernel/dot16 matrix"},
		{"internal/compute/selfmatch",
			"which items of a gallery are the query itself: the same file, a copy, the same bits",
			"internal/base/fileinfo matrix"},
		{"internal/compute/holm", "p-values corrected for their number", ""},
		{"internal/compute/ttest", "Student's paired t-test of two methods over the same seeds",
			"gonum.org/v1/gonum"},
		{"internal/compute/cosine", "cosines rounded once, so that equal ones tie", ""},
		{"internal/compute/exact",
			"nearest rows: fast scores of blocks, then exact scores where these leave a doubt",
			"internal/base/budget internal/base/par internal/kernel/simd internal/kernel/dot8 " +
				"internal/kernel/dot16 internal/kernel/scan matrix internal/compute/exact/quantized " +
				"internal/compute/cosine"},
		{"internal/compute/pair", "pairs of a batch, tuples, and pair weights turned into dL/dE",
			"internal/base/par internal/kernel/scan internal/kernel/simd internal/kernel/bf16 " +
				"internal/base/enum matrix"},
		{"loss", "losses: pairs and tuples in, value and pair weights out",
			"internal/base/option internal/base/par internal/kernel/scan internal/kernel/simd " +
				"internal/base/enum matrix internal/compute/pair"},
		{"objective", "mining policies, and a loss with its mining: embeddings in, value and gradient out",
			"internal/base/budget internal/base/option internal/base/enum internal/base/par matrix " +
				"internal/compute/pair loss internal/kernel/scan internal/kernel/simd"},
		{"nn", "descriptions of networks, and the CPU engine that runs and trains them",
			"internal/base/budget internal/base/fileinfo internal/base/enum internal/base/par " +
				"internal/kernel/simd internal/kernel/bf16 internal/kernel/qgemm internal/network/conv " +
				"internal/network/attention internal/network/qconv internal/network/graphrun " +
				"internal/base/atomic matrix nn/safetensors internal/format/onnx internal/format/strictjson"},
		{"nn/zoo", "networks known by name, and how published weights map onto them",
			"internal/base/enum nn/safetensors internal/format/torchfile nn"},
		{"internal/network/published",
			"what the publishers of a network say beside its weights: heads, activation, preparation",
			"internal/base/escape internal/base/fileinfo internal/format/onnx internal/format/strictjson nn nn/zoo"},
		{"internal/network/onnxexport", "networks into ONNX models",
			"internal/format/onnx nn/safetensors nn internal/network/published"},
		{"internal/network/onnxnet", "ONNX models into networks",
			"internal/base/budget internal/base/escape internal/base/fileinfo internal/format/onnx " +
				"nn/safetensors nn nn/zoo internal/network/published internal/network/graphrun " +
				"internal/network/graphrun/tensor internal/network/graphrun/operator " +
				"internal/network/graphrun/spatial"},
	}
}

// samples has the packages that read, prepare and batch data.
func samples() []Package {
	return []Package{
		{"embedding", "reads and writes files of embeddings and labels",
			"internal/base/budget internal/base/classname internal/base/float16 internal/format/columns " +
				"internal/base/fileinfo internal/base/atomic internal/base/lists internal/format/plaintext " +
				"internal/format/strictjson internal/format/zipfile matrix nn/safetensors"},
		{"internal/parquet", "Parquet for package embedding, apart so that only its users link the library",
			"internal/base/budget internal/base/float16 internal/format/columns matrix embedding " +
				"github.com/parquet-go/parquet-go github.com/andybalholm/brotli github.com/klauspost/compress " +
				"internal/format/strictjson"},
		{"internal/network/textencoder", "texts into embeddings: the text towers of CLIP and SigLIP",
			"internal/base/budget internal/base/fileinfo internal/format/strictjson " +
				"internal/format/tokenizer internal/format/torchfile nn/safetensors matrix nn " +
				"internal/network/published internal/network/onnxnet"},
		{"data/imaging", "decodes image files",
			"internal/base/budget internal/format/avif internal/format/colourspace " +
				"internal/format/heic internal/format/isobmff internal/format/jpeg internal/format/jxl " +
				"internal/format/wasm golang.org/x/image"},
		{"data/imaging/prepare", "resizes, augments and normalises one image",
			"internal/base/enum internal/kernel/pix internal/kernel/simd data/imaging"},
		{"data/internal/tree", "the files of a data set in a folder, an archive, a file system or shards",
			"internal/base/budget internal/base/fileinfo internal/base/par internal/base/rootfs " +
				"internal/base/lists internal/format/zipfile data/imaging golang.org/x/text"},
		{"data/internal/layout", "recognises how a data set is stored, and lists its samples",
			"internal/base/atomic internal/base/braces internal/base/budget internal/base/classname " +
				"internal/base/fileinfo internal/base/home internal/base/option internal/base/par " +
				"internal/base/rootfs internal/base/lists internal/format/idx internal/format/matfile " +
				"internal/format/plaintext internal/format/strictjson internal/format/tarfile matrix " +
				"embedding data/imaging data/internal/tree"},
		{"data", "data sets, their labels, images and loaders",
			"internal/base/atomic internal/base/budget internal/base/classname internal/base/enum " +
				"internal/base/home internal/base/option internal/base/par internal/base/lists " +
				"internal/format/imagepack internal/format/plaintext matrix embedding data/imaging " +
				"data/imaging/prepare data/internal/layout data/internal/tree golang.org/x/text"},
		{"data/split", "divides a data set: train, test, validation, folds, groups of photos taken together",
			"internal/base/classname internal/base/enum internal/base/par internal/base/lists data " +
				"data/imaging/prepare data/imaging"},
		{"data/sample", "class-balanced batches", "internal/base/lists"},
	}
}

// measuring has the packages that score embeddings.
func measuring() []Package {
	return []Package{
		{"internal/compute/cluster", "k-means, and scores of a clustering against labels",
			"internal/base/enum internal/base/par internal/kernel/dot16 matrix internal/compute/exact"},
		{"internal/compute/ward", "agglomerative clustering by Ward's criterion", "matrix"},
		{"internal/compute/groups", "groups of similar classes, by Ward's tree and silhouettes",
			"internal/base/par internal/compute/ward matrix"},
		{"discover", "sub-classes inside the classes of an embedding",
			"internal/base/enum internal/base/par internal/base/lists internal/compute/ward matrix " +
				"gonum.org/v1/gonum internal/compute/exact"},
		{"eval",
			"exact ranks; retrieval, clustering, verification and open-set metrics by name; diagnosis of collapse",
			"internal/base/escape internal/base/budget internal/base/par internal/compute/exact " +
				"internal/compute/groups internal/format/plaintext matrix internal/compute/cluster " +
				"gonum.org/v1/gonum internal/base/fileinfo internal/base/enum internal/compute/selfmatch " +
				"internal/base/option internal/kernel/dot16 discover"},
		{"internal/compute/rerank", "candidates of a search re-ranked, made diverse, grouped by near copies",
			"internal/base/budget internal/base/par matrix eval"},
		{"internal/compute/detection", "mislabels to look for, and how well scores find them", "matrix"},
		{"clean", "wrong labels, copies, outliers and overlapping classes",
			"internal/base/par internal/base/lists internal/compute/exact internal/compute/detection " +
				"matrix eval gonum.org/v1/gonum golang.org/x/image"},
		{"decide", "decisions with a stated error: same or not, which class, unknown",
			"internal/base/atomic internal/compute/exact internal/base/budget internal/base/fileinfo " +
				"internal/format/strictjson internal/base/par internal/compute/groups matrix embedding eval " +
				"gonum.org/v1/gonum"},
		{"internal/compute/projection", "two-dimensional maps of embeddings: PCA, t-SNE",
			"internal/base/enum internal/base/par internal/kernel/fft internal/kernel/simd matrix eval " +
				"gonum.org/v1/gonum"},
	}
}

// searching has the packages that store items with their vectors.
func searching() []Package {
	return []Package{
		{"store", "items, filters, and the interface of stores",
			"internal/base/classname internal/base/escape internal/base/enum"},
		{"serve/api", "the messages of `kindred serve` and of searches, and a client",
			"internal/format/strictjson store"},
		{"internal/compute/exact/nearest", "exact nearest rows among rows coded beforehand",
			"internal/base/par internal/base/mappedfile internal/kernel/dot16 matrix " +
				"internal/compute/exact internal/compute/exact/quantized internal/compute/cosine"},
		{"index", "an index in a folder: durable changes, filters, exact search and inverted lists",
			"internal/base/atomic internal/base/budget internal/base/escape internal/base/lock " +
				"internal/base/mappedfile internal/compute/exact internal/compute/exact/nearest " +
				"internal/base/fileinfo internal/base/enum internal/kernel/dot16 matrix embedding eval " +
				"internal/compute/cluster store internal/format/strictjson"},
		{"internal/database/driver", "shared by drivers: ids as UUIDs, column names, addresses of clusters",
			"store github.com/google/uuid"},
		{"internal/database/pgvector", "a store in PostgreSQL with pgvector",
			"store internal/format/strictjson github.com/jackc/pgx/v5"},
		{"internal/database/weaviate", "a store in Weaviate",
			"store internal/base/escape internal/database/driver internal/format/strictjson"},
		{"internal/database/qdrant", "a store in Qdrant",
			"store internal/database/driver internal/format/strictjson github.com/qdrant/go-client " +
				"google.golang.org/grpc"},
	}
}

// running has the packages for training, and for work that machines share.
func running() []Package {
	return []Package{
		{"train", "the training loop, its optimizers and checkpoints, without files or configuration",
			"internal/base/budget internal/base/critical internal/base/par matrix loss objective nn " +
				"nn/safetensors data data/sample gonum.org/v1/gonum internal/format/strictjson internal/base/enum " +
				"internal/kernel/simd"},
		{"run/internal/keys", "reads, checks, writes and explains a configuration from a table of its keys",
			"internal/format/yamltext internal/base/enum objective github.com/goccy/go-yaml"},
		{"run/internal/feed", "reads the samples of a part for a network; features of a frozen body",
			"internal/base/budget internal/base/lists internal/format/rows data matrix nn train"},
		{"run/internal/embedder", "embeds images of many goroutines together",
			"internal/base/batch internal/base/budget data/imaging data/imaging/prepare matrix nn run/internal/feed"},
		{"run/internal/ranks", "compares what decides the bits of a run on all its processes",
			"internal/kernel/simd train"},
		{"run/internal/record", "writes the folder of a run: its rows of epochs, its checkpoint, its embeddings",
			"internal/base/atomic internal/base/lock internal/base/option internal/format/tfevents " +
				"embedding matrix nn train"},
		{"run/internal/validation", "scores of the samples that choose the kept epoch: margins, nearest items",
			"internal/base/lists eval matrix"},
		{"run/internal/wccn", "a last layer that is computed from features of training samples",
			"internal/base/lists matrix nn gonum.org/v1/gonum"},
		{"run", "configurations, run folders, trained models",
			"internal/format/yamltext internal/base/budget internal/base/option internal/base/enum " +
				"internal/base/fileinfo internal/base/rootfs internal/base/atomic internal/base/home " +
				"internal/base/lock internal/base/lists internal/compute/pair objective loss matrix nn " +
				"nn/zoo train internal/network/published internal/network/onnxexport " +
				"internal/network/onnxnet data data/split data/sample data/imaging data/imaging/prepare " +
				"eval discover embedding nn/safetensors github.com/goccy/go-yaml gonum.org/v1/gonum " +
				"internal/format/plaintext run/internal/embedder run/internal/feed run/internal/keys " +
				"run/internal/ranks run/internal/record run/internal/validation run/internal/wccn"},
		{"internal/jobs", "jobs that anyone may repeat: done in this process, and their results remembered",
			"internal/base/atomic internal/base/fileinfo internal/format/strictjson"},
		{"internal/sweep",
			"settings chosen on validation classes, and arms compared: plans, trials, early stopping",
			"internal/compute/holm internal/compute/ttest internal/base/atomic internal/base/lock " +
				"internal/base/option internal/base/fileinfo internal/base/enum internal/format/yamltext " +
				"internal/jobs objective data embedding train run github.com/goccy/go-yaml " +
				"internal/format/strictjson"},
		{"internal/jobs/queue", "jobs for workers on other machines, through NATS JetStream",
			"internal/base/budget internal/base/critical internal/base/option internal/base/fileinfo " +
				"internal/base/enum internal/format/strictjson internal/jobs github.com/nats-io/nats.go " +
				"golang.org/x/sync"},
		{"internal/jobs/natsserver", "a NATS server in this process, for a queue in a folder",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/fileinfo " +
				"github.com/minio/highwayhash github.com/nats-io/nats-server/v2"},
	}
}

func pages() []Package {
	return []Package{
		{"internal/app/quality",
			"photos that are blurred, dark, overexposed, tiny, of an odd shape, or screenshots",
			"internal/base/par data data/imaging/prepare data/split data/imaging"},
		{"internal/collection/mirror/changes",
			"compares two listings of photos: added, changed, moved, relabelled, removed",
			""},
		{"internal/collection/mirror/watch", "calls a function when something in a folder has changed",
			"github.com/fsnotify/fsnotify"},
		{"internal/collection/mirror", "brings an index in line with a folder of photos, in one change",
			"internal/base/atomic internal/base/budget internal/base/classname internal/base/fileinfo " +
				"internal/format/strictjson internal/collection/mirror/changes embedding data data/imaging " +
				"index run store"},
		{"internal/collection/provenance", "which network made a set of vectors",
			"internal/base/escape internal/base/fileinfo nn embedding index run " +
				"internal/network/textencoder"},
		{"internal/collection/calibrations", "finds the calibration of a network, an index or embeddings",
			"internal/base/fileinfo decide embedding index run internal/collection/provenance"},
		{"internal/collection/lookup", "looks up photos, words, items and vectors: nearest, the same, who",
			"internal/base/escape internal/base/option internal/base/fileinfo internal/base/enum " +
				"internal/base/lists internal/compute/selfmatch internal/compute/rerank matrix nn data " +
				"data/imaging embedding eval decide store serve/api index run internal/network/textencoder " +
				"internal/collection/mirror internal/collection/provenance " +
				"internal/collection/calibrations golang.org/x/sync"},
		{"internal/page/webmap", "the map of items on pages: a script and a style sheet", ""},
		{"internal/page/theme", "colours, type and security rules of all pages", "maragu.dev/gomponents"},
		{"internal/page/figure", "figures as SVG and PNG from plain structs",
			"internal/base/escape internal/base/atomic gonum.org/v1/plot golang.org/x/image"},
		{"internal/page/report", "self-contained HTML from plain structs",
			"internal/base/escape internal/base/atomic internal/page/theme internal/page/webmap " +
				"internal/page/figure gonum.org/v1/plot golang.org/x/image maragu.dev/gomponents"},
		{"internal/page/report/photo", "reads the pictures of items for pages",
			"internal/base/budget internal/base/fileinfo internal/base/par embedding data data/imaging " +
				"data/imaging/prepare " +
				"internal/page/report"},
		{"internal/page/review", "the page for a person's decisions on sub-classes and suspects",
			"internal/base/atomic internal/base/fileinfo embedding internal/page/theme golang.org/x/image " +
				"maragu.dev/gomponents internal/format/strictjson"},
		{"internal/page/review/subclasses", "the results of discover as tables and as a review page",
			"internal/base/enum discover internal/page/review"},
		{"internal/page/review/suspects",
			"the results of clean as tables and as a review page; folds trained for it",
			"internal/base/enum internal/app/quality matrix data run clean internal/page/review"},
		{"internal/page/report/retrieval", "pages of queries with their neighbours",
			"matrix embedding data eval decide internal/base/enum serve/api internal/collection/lookup " +
				"internal/page/report internal/page/report/photo"},
		{"internal/page/report/maps", "embeddings placed in the plane, for pages",
			"matrix embedding internal/compute/projection internal/page/figure internal/page/report"},
		{"internal/page/report/runs", "run folders compared on a page",
			"internal/base/option data embedding internal/compute/projection train run " +
				"internal/page/figure internal/page/report internal/page/report/maps internal/page/report/photo " +
				"internal/page/report/retrieval"},
		{"internal/page/report/sweepreport", "a sweep as a page", "internal/sweep internal/page/figure " +
			"internal/page/report"},
		{"internal/page/report/comparereport", "arms compared: tables, LaTeX, CSV, a figure and a page",
			"internal/base/atomic internal/base/enum internal/sweep internal/page/figure internal/page/report " +
				"internal/page/report/runs"},
		{"internal/page/report/verifyreport",
			"verification as a page: DET, ROC, distances of genuine and impostor pairs",
			"eval internal/page/figure internal/page/report"},
		{"internal/page/report/diagnosisreport", "a diagnosis as a part of the report",
			"internal/base/option eval internal/page/figure internal/page/report"},
		{"internal/page", "the page of `kindred serve`",
			"internal/page/theme internal/page/webmap internal/page/review"},
	}
}

func services() []Package {
	return []Package{
		{"internal/app/remote/download", "downloads over HTTP: resumed, bounded, checked, then renamed",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/fileinfo"},
		{"internal/app/remote/weights", "pretrained networks by name, fetched and cached",
			"internal/base/budget internal/app/remote/download internal/base/home internal/base/option " +
				"internal/base/fileinfo internal/base/enum internal/format/torchfile"},
		{"internal/app/remote/decoders", "fetches the decoder for HEIC",
			"internal/base/atomic internal/base/budget internal/base/fileinfo " +
				"internal/app/remote/download internal/format/heic"},
		{"internal/app/remote/datasets", "`kindred data get`: known data sets and where their files come from",
			"internal/base/budget internal/base/fileinfo internal/base/lock internal/base/atomic " +
				"internal/app/remote/download data internal/format/idx"},
		{"internal/app/remote/remotedata", "data sets at s3:// and https://, read whole or by ranges",
			"internal/base/braces internal/base/budget internal/format/zipfile " +
				"internal/app/remote/download data github.com/minio/minio-go/v7"},
		{"serve", "the HTTP server: search, changes, access, limits, metrics",
			"internal/base/batch internal/base/atomic internal/base/budget internal/base/classname " +
				"internal/base/escape internal/base/option internal/base/fileinfo internal/page/review " +
				"internal/format/strictjson matrix embedding data data/imaging data/imaging/prepare eval " +
				"internal/compute/projection decide internal/compute/selfmatch internal/collection/lookup " +
				"internal/collection/mirror run store serve/api internal/network/textencoder " +
				"github.com/prometheus/client_golang golang.org/x/image golang.org/x/time"},
	}
}

func experiments() []Package {
	return []Package{
		{"internal/app/experiments/theory", "the package comment of the theory packages", ""},
		{"internal/app/experiments/theory/lp", "small linear programs", ""},
		{"internal/app/experiments/theory/noise", "expected losses under label noise, and their minimisers",
			"internal/base/par"},
		{"internal/app/experiments/theory/isometry",
			"distance to the nearest triplet-separated arrangement, with certificates",
			"internal/base/par internal/app/experiments/theory/lp gonum.org/v1/gonum"},
		{"internal/app/experiments/theory/field", "how steps move triplets on the scatter diagram",
			"internal/base/par internal/base/enum matrix internal/compute/pair loss"},
		{"internal/app/experiments/theory/pages", "what `kindred theory` computes and draws",
			"internal/base/atomic internal/base/par matrix objective embedding run internal/page/figure " +
				"internal/page/report " +
				"internal/app/experiments/theory/noise internal/app/experiments/theory/isometry " +
				"internal/app/experiments/theory/field"},
		{"internal/app/experiments/simulation",
			"tries the promises of decide, discover and clean on random classes: `make promises`",
			"clean decide discover embedding eval matrix gonum.org/v1/gonum"},
		{"internal/app/experiments/reranking",
			"measures re-ranking on files of embeddings, beside the first search",
			"internal/base/par internal/compute/holm internal/compute/rerank embedding internal/parquet " +
				"eval matrix"},
		{"internal/app/experiments/paper",
			"the papers' experiments: definitions, statements, runners, documents",
			"internal/base/home internal/base/par internal/base/enum internal/base/atomic " +
				"internal/base/lock internal/base/rootfs internal/format/yamltext internal/jobs embedding " +
				"matrix train run internal/sweep eval internal/compute/cluster " +
				"internal/app/experiments/theory/noise internal/app/experiments/theory/isometry " +
				"internal/app/experiments/theory/field data data/split data/imaging data/imaging/prepare nn " +
				"objective " +
				"internal/page/figure internal/page/report " +
				"internal/page/report/maps internal/page/report/photo internal/page/report/retrieval " +
				"internal/page/report/diagnosisreport internal/compute/detection internal/compute/holm " +
				"internal/compute/ttest internal/compute/projection discover clean decide golang.org/x/image " +
				"golang.org/x/sync gonum.org/v1/gonum github.com/goccy/go-yaml"},
		{"internal/app/bench", "the cases of `kindred bench`, the peer beside them, and docs/bench.md", "*"},
	}
}

func programs() []Package {
	return []Package{
		{"internal/app/cli/progress", "progress bars of a training run",
			"train github.com/schollz/progressbar/v3 golang.org/x/term"},
		{"internal/app/cli", "shared by kindred and its variants for GPUs and MPI: global flags, training",
			"internal/base/budget internal/base/option internal/app/remote/remotedata " +
				"internal/page/report/runs internal/app/remote/weights internal/format/yamltext data " +
				"embedding internal/parquet objective run github.com/spf13/cobra github.com/spf13/pflag"},
		{"internal/app/cli/contents",
			"the layers of a network, the nodes of an ONNX file, the tensors of a weights file",
			"nn/safetensors internal/format/onnx nn"},
		{"internal/app/cli/results", "the output files of a command, written together",
			"internal/base/atomic internal/base/fileinfo internal/format/strictjson"},
		{"internal/app/cli/customloss",
			"a loss or a miner that the calling program computes: `kindred train --own`",
			"internal/base/atomic internal/base/fileinfo internal/format/strictjson loss matrix objective"},
		{"internal/app/cli/console", "what every command prints to: results, remarks, progress",
			"internal/base/budget golang.org/x/term"},
		{"internal/app/cli/inspect", "`kindred data info`: what is in a data set",
			"internal/base/budget internal/base/par internal/base/atomic internal/base/escape internal/app/cli " +
				"internal/app/cli/console internal/app/quality clean data data/split data/imaging " +
				"data/imaging/prepare golang.org/x/image"},
		{"internal/app/cli/signals", "ends a command when the process is told to stop", "internal/base/critical"},
		{"internal/app/cli/version", "which build this is", "internal/kernel/simd"},
		{"internal/app/cli/complete", "completes words of a command line", "*"},
		{"internal/app/cli/flags", "adds flags to commands, refuses values and flags that do not apply", "*"},
		{"internal/app/cli/explain", "`kindred loss`: a loss on one batch", "embedding matrix objective"},
		{"internal/app/cli/calibrate", "learns a calibration from a run, an index or embeddings",
			"internal/base/escape internal/base/enum matrix train data embedding eval clean decide store " +
				"index run data/split internal/app/cli internal/app/cli/console internal/collection/lookup " +
				"internal/collection/provenance"},
		{"internal/app/cli/shards",
			"the jobs of workers: shards of embed, index and eval, runs of experiments and sweeps",
			"internal/base/atomic internal/base/budget internal/base/lock internal/base/fileinfo " +
				"internal/base/rootfs internal/app/experiments/paper data embedding eval internal/jobs matrix " +
				"run internal/sweep train internal/format/strictjson"},
		{"internal/app/cli/items",
			"adds photos and embeddings to an index or a store, and prints search results",
			"internal/base/budget matrix embedding internal/parquet data data/imaging eval decide store " +
				"index run internal/collection/mirror internal/collection/lookup " +
				"internal/page/report/retrieval internal/collection/provenance internal/app/cli/shards"},
		{"internal/app/cli/reembed", "gives an index the vectors of another network, in one change",
			"internal/base/lock internal/base/par data embedding eval store index run " +
				"internal/collection/mirror internal/collection/provenance internal/app/cli/shards"},
		{"internal/app/cli/outputs", "writes results to the place that the flags of a command name", "*"},
		{"internal/app/cli/inputs", "opens what arguments and flags name: photos, networks, embeddings, indexes",
			"*"},
		{"internal/app/cli/queues", "opens the queue of jobs that the flags of a command name", "*"},
		{"internal/app/cli/itemsource", "the items that discover and clean examine", "*"},
		{"internal/app/cli/indexing", "fills an index or a store with the items that flags name", "*"},
		{"internal/app/cli/foldersync", "makes an index match a folder of photos, once or while a server runs", "*"},
		{"internal/app/cli/serving", "opens what `kindred serve` serves, and lets other programs replace it",
			"*"},
		{"internal/app/cli/decisions", "the pages of `kindred identify`", "*"},
		{"internal/app/cli/doctor", "`kindred doctor`: examines what kindred finds on this machine", "*"},
		{"internal/app/cli/card", "the model card and the metadata of an exported network",
			"nn/safetensors decide internal/app/cli/contents internal/network/onnxnet run train"},
		{"internal/app/cli/validations", "prints what calibrations promised and what was measured",
			"internal/base/escape internal/base/enum decide"},
		{"internal/app/cli/plan", "`kindred plan`: the size of a large collection on each engine", ""},
		{"cmd/kindred", "the commands: flags, output, files", "*"},
	}
}

func repository() []Package {
	return []Package{
		{"internal/test/archives", "archives of given members", ""},
		{"internal/test/refdata", "reference values in the repository, and the optional data beside it",
			"github.com/sbinet/npyio"},
		{"internal/test/storetest",
			"a store in memory that can fail, checks for every store, and databases for tests",
			"store"},
		{"internal/test/fakeqdrant", "a server of Qdrant's protocol in memory",
			"github.com/qdrant/go-client google.golang.org/grpc"},
		{"internal/test/queuetest", "three NATS servers on this machine",
			"github.com/nats-io/nats-server/v2"},
		{"internal/test/netcases", "small networks with every kind of layer", "nn nn/safetensors"},
		{"internal/test/rowtest", "rows that comparisons must get right", "matrix"},
		{"internal/test/ranktest", "goroutines as the ranks of one training", ""},
		{"internal/test/ctxtest", "a context that is cancelled at its n-th check", ""},
		{"internal/test/budgettest", "sets the limit on memory, and measures the memory of a reader",
			"internal/base/budget"},
		{"internal/test/hostile", "hostile files, valid in structure, that readers must bound",
			"internal/test/budgettest"},
		{"internal/test/heif", "writes HEIF files, and finds the decoder for HEIC", ""},
		{"internal/test/bombs", "hostile image files, made from structure",
			"internal/test/hostile internal/test/heif github.com/andybalholm/brotli"},
		{"internal/test/bombs/trial", "gives hostile image files to the commands and to a server: `make bombs`",
			"data/imaging internal/test/bombs"},
		{"internal/test/mutations", "randomly changed texts that readers must refuse or accept",
			"internal/test/budgettest"},
		{"internal/test/powertest", "possible states of a disk after a loss of power",
			"internal/base/atomic internal/base/lock"},
		{"internal/test/soak", "random comparisons over many seeds; damaged files for every reader", ""},
		{"internal/test/browser", "every page opened and used in Chromium", ""},
		{"internal/test/readme", "runs the commands of README and docs, and follows their links", ""},
		{"internal/test/ladder", "the table of packages, and tests of style and of public types", ""},
		{"internal/test/stress", "runs tests many times under load: `make stress`", ""},
		{"internal/test/systems", "checks types as on other systems: `make cross`", "golang.org/x/tools"},
		{"docs/gallery", "takes the pictures of docs/gallery.md", "internal/base/atomic"},
		{"docs/recording", "films README's three commands",
			"internal/base/atomic internal/base/escape internal/format/idx internal/page/report " +
				"golang.org/x/image"},
		{"docs/site", "a static site of README and docs, with search",
			"internal/base/atomic github.com/yuin/goldmark"},
		{"docs/gen", "generates the pages of losses, policies, timings and packages",
			"data/imaging internal/base/atomic internal/test/ladder internal/app/remote/weights " +
				"internal/app/bench eval objective"},
	}
}
