package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/test/fakeqdrant"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// flagTrial is a flag with a value, and what has to come of it. Elsewhere it is a usage error.
type flagTrial struct {
	args    string // with what else it takes
	accepts string // sources where it is accepted and nothing of it is seen
	changes string // sources where it changes what is printed
	unfit   string // sources where photos are prepared by it otherwise than for the calibration, which is an error
}

// lookingCommand is a command that looks for neighbours, or that calibrates, with arguments for each source.
type lookingCommand struct {
	path    string
	sources map[string]string
	flags   map[string]flagTrial
}

const (
	allSources   = "run network embeddings index store"
	tableSources = "run network embeddings"
	allButStore  = "run network embeddings index"
)

// queryPhoto is what is looked up. In arguments @ is the address of a store, $ the source, whose calibrations are
// C-$.json and closed-$.json, and # a name that is new every time.
const queryPhoto = "q.jpg"

// lookingCommands is the table of all flags of the commands that look for neighbours, and of calibrate.
func lookingCommands() []lookingCommand {
	return []lookingCommand{searchTrials(), indexSearchTrials(), identifyTrials(), chooseTrials(),
		neighboursTrials(), serveTrials(),
		calibrateTrials()}
}

// withNetwork adds the flags of networks.
func withNetwork(more map[string]flagTrial) map[string]flagTrial {
	out := map[string]flagTrial{
		"cut":     {"--cut embedding", "network", "", ""},
		"size":    {"--size 64", "network", "", ""},
		"shorter": {"--shorter 80", "network", "", ""}, // photos are squares
		"pixels":  {"--pixels inverted", "", "network", ""},
		"fit":     {"--fit stretch", "network", "", ""},
		// Photos have the size of the network's images already.
		"resample": {"--resample lanczos", "network", "", ""},
		"colours":  {"--colours raw", "network", "", ""}, // photos declare no space
		// Networks by name have weights there, and none of these is one.
		"weights-dir": {"--weights-dir weights", "", "", ""},
		// Another network than the one that is given.
		"network": {"--network m.onnx --calibration C-network.json", "network vectors", "", ""},
	}
	maps.Copy(out, more)
	return out
}

func searchTrials() lookingCommand {
	const photo = queryPhoto
	return lookingCommand{
		"search",
		map[string]string{"run": photo + " --run run --in few", "network": photo + " --network m.onnx --in few",
			"embeddings": photo + " --run run --embeddings E.csv", "index": photo + " --index ix",
			"store": photo + " --store @ --run run"},
		withNetwork(map[string]flagTrial{
			"run":           {"--run run", "run embeddings store", "", ""},
			"offline":       {"--offline", "", "", ""}, // all of these have a network
			"in":            {"--in photos --neighbours 2", "", "run network embeddings", ""},
			"embeddings":    {"--embeddings E.csv", "embeddings", "run network", ""},
			"index":         {"--index ix", "index", "", ""},
			"store":         {"--store @", "store", "", ""},
			"labels":        {"--labels other.csv", "", "embeddings", ""},
			"column":        {"--column other", "index store", "embeddings", ""},
			"force-network": {"--force-network", "embeddings", "", ""},
			cli.DataDir:     {"--data-dir sets", "run network", "", ""},
			"allow-outside": {"--allow-outside", "run network", "", ""},
			"distance":      {"--distance dot", "", tableSources, ""},
			"scratch":       {"--scratch 5", tableSources, "", ""},
			"neighbours":    {"--neighbours 2", "", allSources, ""},
			"out":           {"--out #", "", allSources, ""},
			"force":         {"--force --out #", "", allSources, ""},
			"strict":        {"--strict", allSources, "", ""},
			"least":         {"--least 0.999 --calibration C-$.json", "", allSources, ""},
			"strangers":     {"--strangers 0.9 --calibration C-$.json", "", allSources, ""},
			"calibration":   {"--calibration C-$.json", "", allSources, ""},
			// All other networks were trained here.
			"text":     {"--text boot --words tower", "", "network", ""},
			"words":    {"--words tower --text boot", "", "network", ""},
			"group-by": {"--group-by label --neighbours 1", "", allSources, ""},
			"collapse": {"--collapse 0.0001", allSources, "", ""},
			"others":   {"--others 1 --group-by label", "", allSources, ""},
			"diverse":  {"--diverse 0.9", "", allSources, ""},
			"rerank":   {"--rerank k-reciprocal", allSources, "", ""},
			"explain":  {"--explain", "", allSources, ""},
		}),
	}
}

func indexSearchTrials() lookingCommand {
	const photo = queryPhoto
	return lookingCommand{
		"index search",
		map[string]string{"index": "ix " + photo, "store": photo + " --store @ --run run"},
		map[string]flagTrial{
			"run":    {"--run run", "store", "", ""},
			"store":  {"--store @ --run run", "index store", "", ""}, // INDEX is a folder of photos then
			"id":     {"--id c1/2.png", "", "index store", ""},
			"vector": {"--vector E.csv", "", "index store", ""},

			"force-network": {"--force-network --vector E.csv", "", "index store", ""},
			"filter":        {`--filter label!="c0"`, "", "index store", ""},
			"exact":         {"--exact", "index", "", ""},
			"neighbours":    {"--neighbours 2", "", "index store", ""},
			"strict":        {"--strict", "index store", "", ""},
			"least":         {"--least 0.999 --calibration C-$.json", "", "index store", ""},
			"strangers":     {"--strangers 0.9 --calibration C-$.json", "", "index store", ""},
			"calibration":   {"--calibration C-$.json", "", "index store", ""},
			"text":          {"--text boot --words tower", "", "", ""}, // the network was trained here
			"words":         {"--words tower --text boot", "", "", ""},
			"group-by":      {"--group-by label", "", "index store", ""},
			"collapse":      {"--collapse 0.0001", "index store", "", ""},
			"others":        {"--others 1 --group-by label", "", "index store", ""},
			"diverse":       {"--diverse 0.9", "", "index store", ""},
			"rerank":        {"--rerank k-reciprocal", "index store", "", ""},
			"explain":       {"--explain", "", "index store", ""},
		},
	}
}

func identifyTrials() lookingCommand {
	const photo = queryPhoto
	return lookingCommand{
		"identify",
		map[string]string{"run": photo + " --run run --in few --calibration C-$.json --json",
			"network":    photo + " --network m.onnx --in few --calibration C-$.json --json",
			"embeddings": photo + " --run run --embeddings E.csv --calibration C-$.json --json",
			"vectors":    "--vector Q.csv --embeddings E.csv --calibration C-$.json --json",
			"index":      photo + " --index ix --calibration C-$.json --json"},
		withNetwork(map[string]flagTrial{
			"shorter":       {"--shorter 80", "", "", "network"},
			"pixels":        {"--pixels inverted", "", "", "network"},
			"fit":           {"--fit stretch", "", "", "network"},
			"resample":      {"--resample lanczos", "", "", "network"},
			"colours":       {"--colours raw", "", "", "network"},
			"run":           {"--run run --calibration C-run.json", "run embeddings vectors", "", ""},
			"in":            {"--in photos", "embeddings vectors", "run network", ""},
			"embeddings":    {"--embeddings E.csv", "run network embeddings vectors", "", ""},
			"index":         {"--index ix", "index", "", ""},
			"labels":        {"--labels other.csv", "", "embeddings vectors", ""},
			"column":        {"--column other", "", "embeddings vectors index", ""},
			"force-network": {"--force-network", "embeddings vectors", "", ""},
			"vector":        {"--vector E.csv", "vectors", "", ""}, // elsewhere there is a photo
			"data":          {"--data photos", "", "", ""},         // there is a photo, or a file of vectors
			cli.DataDir:     {"--data-dir sets", "run network", "", ""},
			"allow-outside": {"--allow-outside", "run network", "", ""},
			"calibration":   {"--calibration C-$.json", allButStore + " vectors", "", ""},
			"fpir":          {"--fpir 0.3", "", allButStore + " vectors", ""},
			"estimate":      {"--estimate", "", allButStore + " vectors", ""},
			"strangers":     {"--strangers 0.9", "", allButStore + " vectors", ""},
			"coverage":      {"--coverage 0.7", "", allButStore + " vectors", ""},
			"closed":        {"--closed --calibration closed-$.json", "", allButStore + " vectors", ""},
			"by-class":      {"--by-class=false --coverage 0.7", "", allButStore + " vectors", ""},
			"together":      {"--together", "run network embeddings index", "vectors", ""},
			"table":         {"--table #.csv", allButStore + " vectors", "", ""},
			"out":           {"--out #", "", allButStore + " vectors", ""},
			"force":         {"--force --out #", "", allButStore + " vectors", ""},
			"queries":       {"--queries 1 --out #", "", allButStore + " vectors", ""},
			"neighbours":    {"--neighbours 2 --out #", "", allButStore + " vectors", ""},
			"strict":        {"--strict", allButStore + " vectors", "", ""},
			// There is a gallery, and the trial of labels as words has none.
			"choices": {"--choices a,b --words tower", "", "", ""}, "template": {"--template x{}", "", "", ""},
			"words": {"--words tower", "", "", ""},
		}),
	}
}

// chooseTrials are those of labels as words.
func chooseTrials() lookingCommand {
	all := map[string]flagTrial{
		"choices": {"--choices a,b", "", "choices", ""}, "template": {"--template x{}", "", "choices", ""},
		"words": {"--words tower", "choices", "", ""}, "network": {"--network m.onnx", "choices", "", ""},
		"strict": {"--strict", "choices", "", ""},
	}
	for _, of := range []lookingCommand{identifyTrials()} {
		for name, trial := range of.flags {
			if _, ok := all[name]; !ok {
				all[name] = flagTrial{args: trial.args}
			}
		}
	}
	for _, name := range []string{"cut", "size", "shorter", "fit", "resample", "colours"} {
		all[name] = flagTrial{all[name].args, "choices", "", ""}
	}
	all["pixels"] = flagTrial{"--pixels inverted", "", "choices", ""}
	return lookingCommand{"identify", map[string]string{
		"choices": queryPhoto + " --network m.onnx --choices boot,sandal --words tower --json"}, all}
}

func neighboursTrials() lookingCommand {
	return lookingCommand{
		"neighbours",
		map[string]string{"embeddings": "--embeddings E.csv --out rows --force --queries 1 --neighbours 1 --json",
			"photos": "--embeddings E.csv --data photos --out rows --force --queries 1 --neighbours 1 --json"},
		map[string]flagTrial{
			"embeddings":    {"--embeddings E.csv", "embeddings photos", "", ""},
			"labels":        {"--labels other.csv", "", "embeddings photos", ""},
			"column":        {"--column other", "", "embeddings photos", ""},
			"data":          {"--data photos", "embeddings photos", "", ""},
			cli.DataDir:     {"--data-dir sets", "photos", "", ""},
			"allow-outside": {"--allow-outside", "photos", "", ""},
			"distance":      {"--distance dot", "", "embeddings photos", ""},
			"queries":       {"--queries 2", "", "embeddings photos", ""},
			"neighbours":    {"--neighbours 2", "", "embeddings photos", ""},
			"scratch":       {"--scratch 5", "embeddings photos", "", ""},
			"strict":        {"--strict", "embeddings photos", "", ""},
			"out":           {"--out #", "", "embeddings photos", ""},
			"force":         {"--force", "embeddings photos", "", ""},
		},
	}
}

// calibrateTrials has sources by what is calibrated, and by what is done with it. Photos of strange were not seen by
// training, nor are the items of strange.ix; those of flat have no labels.
func calibrateTrials() lookingCommand {
	const written, all = "run index embeddings", "run index embeddings trials check drift"
	return lookingCommand{
		"calibrate",
		map[string]string{"run": "run --out K-$.json --force --json",
			"index":      "strange.ix --out K-$.json --force --json",
			"embeddings": "E.csv --out K-$.json --force --json", "trials": "E.csv --trials 1 --json",
			"check": "run --check strange --out K-$.json --json",
			"drift": "run --check flat --data strange --out K-$.json --json"},
		map[string]flagTrial{
			"labels":        {"--labels wide.csv", "", "embeddings trials", ""},
			"column":        {"--column label", all, "", ""},
			"distance":      {"--distance cosine", "", written + " trials", ""},
			"fmr":           {"--fmr 0.3", "", all, ""},
			"out":           {"--out L-$.json", "check drift", written, ""},
			"force":         {"--force", written, "", ""},
			"keep-failed":   {"--keep-failed", written + " trials drift", "", ""},
			"allow-seen":    {"--allow-seen", "", "", ""}, // training saw no class that is calibrated on
			"folds":         {"--folds 2", "", "", ""},    // the run kept classes apart
			"trials":        {"--trials 2", "", "trials", ""},
			"seen":          {"--seen E.csv", "", "trials check", ""},
			"force-network": {"--force-network --seen E.csv", "", "trials check", ""},
			"check":         {"--check strange", "check", "", ""}, // nor does it apply with --force or --data
			"data":          {"--data strange", "drift", "run index", ""},
			cli.DataDir:     {"--data-dir sets", "run index check drift", "", ""},
			"allow-outside": {"--allow-outside", "run index check drift", "", ""},
			"strict":        {"--strict", all, "", ""},
		},
	}
}

// serveTrials has many flags that are about the server alone.
func serveTrials() lookingCommand {
	const all, items = "index store review", "index store"
	out := map[string]flagTrial{
		"store": {"--store @2", all, "", ""}, "review": {"--review suspects", all, "", ""},
		"run":  {"--run run", "store", "", ""},
		"sync": {"--sync photos", "index", "", ""}, "sync-every": {"--sync-every 1h --sync photos", "index", "", ""},
		"sync-most": {"--sync-most 0.3 --sync photos", "index", "", ""},
		"label":     {"--label other", items, "", ""}, "pictures": {"--pictures photos", items, "", ""},
		"uploads": {"--uploads #", items, "", ""}, "max-items": {"--max-items 5", items, "", ""},
		"max-k": {"--max-k 5", items, "", ""}, "max-pixels": {"--max-pixels 5000", items, "", ""},
	}
	for _, args := range []string{"--listen 127.0.0.1:0", "--keys keys.txt", "--origin *", "--read-only",
		"--without-keys", "--open-to-network", "--max-body 1MiB", "--rate 5", "--burst 5", "--concurrent 5",
		"--connections 50", "--connections-per-address 5", "--trusted-proxy loopback", "--request-memory 64MiB",
		"--timeout 5s", "--drain 5s", "--log-format text", "--log-level warn"} {
		name, _, _ := strings.Cut(strings.TrimPrefix(args, "--"), " ")
		out[name] = flagTrial{args: args, accepts: all}
	}
	for _, name := range []string{"tls-cert", "tls-key"} { // one without the other
		out[name] = flagTrial{args: "--" + name + " x.pem"}
	}
	return lookingCommand{"serve", map[string]string{"index": "ix", "store": "--store @ --run run",
		"review": "--review suspects"}, out}
}

// TestEveryFlagOfEverySource: a flag of a command of the table applies to what it looks into, which can be
// seen or is accepted, or is refused with the reason. A flag that the table does not have fails.
func TestEveryFlagOfEverySource(t *testing.T) {
	address := makeLookupSources(t)
	for _, c := range lookingCommands() {
		cmd, _, err := newRoot(&console.Console{}).Find(strings.Fields(c.path))
		if err != nil {
			t.Fatal(err)
		}
		missing := func(f *pflag.Flag) {
			if _, ok := c.flags[f.Name]; !ok {
				t.Errorf("%s --%s is not in the table", c.path, f.Name)
			}
		}
		cmd.Flags().VisitAll(missing)
		for source, args := range c.sources {
			asked := 0
			ask := func(more string) (code int, out string) {
				asked++
				fill := strings.NewReplacer("@", address, "$", source, "#",
					fmt.Sprintf("%s-%s-%d", cmd.Name(), source, asked))
				return runLookup(t, cmd, fill.Replace(c.path+" "+args+" "+more))
			}
			code, plain := ask("")
			if code != exitOK {
				t.Fatalf("%s %s: status %d, %s", c.path, args, code, plain)
			}
			for name, of := range c.flags {
				code, out := ask(of.args)
				accepted := slices.Contains(strings.Fields(of.accepts), source)
				changed := slices.Contains(strings.Fields(of.changes), source)
				switch {
				case slices.Contains(strings.Fields(of.unfit), source):
					if code != exitFailure || !strings.Contains(out, "the calibration is for another network") {
						t.Errorf("%s, %s of %s: status %d, %s", c.path, of.args, source, code, out)
					}
				case accepted || changed:
					if code != exitOK || changed && out == plain {
						t.Errorf("%s, %s of %s: status %d, other output %v: %s", c.path, of.args, source, code,
							out != plain, out)
					}
				case code != exitUsage || !strings.Contains(out, "--"):
					t.Errorf("%s, --%s of %s is not refused: status %d, %s", c.path, name, source, code, out)
				}
			}
		}
	}
}

// TestFlagsOfNothing: what other commands would ignore is refused with the reason, before anything is read.
func TestFlagsOfNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBytes(t, filepath.Join("run", "x"), nil)
	writeBytes(t, "E.csv", nil)
	for line := range strings.Lines(`clean run --labels a.csv --out o -> --labels does not apply to a run
clean E.csv --folds 2 --out o -> --folds does not apply to a file of embeddings
clean E.csv --data-dir x --out o -> --data-dir applies to --data, which is missing
discover run --labels a.csv --out o -> --labels does not apply to a run
discover E.csv --allow-outside --out o -> --allow-outside applies to --data, which is missing
map --embeddings E.csv --out o --data-dir x -> --data-dir applies to --data, which is missing
map --embeddings E.csv --out o --method pca --iterations 5 -> --iterations does not apply to --method pca
map --embeddings E.csv --out o --method tsne-exact --sample 5 -> --sample does not apply to --method tsne-exact
embed run - --out o.csv --allow-outside -> --allow-outside does not apply to a list of files (-)
embed run E.csv --out o.csv --shard 5 -> --shard applies to --queue, which is missing
eval --embeddings E.csv --workers 2 -> --workers applies to --queue, which is missing
index create run E.csv --out o --labels a.csv -> --labels applies to --embeddings, which is missing
index create --embeddings E.csv --out o --strict -> --strict does not apply to a file of embeddings
index create --embeddings E.csv --out o --data-dir x -> --data-dir does not apply to a file of embeddings
index create --embeddings E.csv --out o --fit cover -> --fit does not apply to a file of embeddings
index create run E.csv --out o --shard 5 -> --shard applies to --queue, which is missing
index create --embeddings E.csv --out o --queue q -> --queue does not apply to a file of embeddings
embed run - --out o.csv --queue q -> --queue does not apply to a list of files (-)
embed run E.csv --out o.csv --queue q --keep -> --keep does not apply to jobs of a queue (--queue)
embed run E.csv --out o.csv --queue q --data-labels l -> --data-labels does not apply to jobs of a queue (--queue)
index create run E.csv --out o --hnsw -> --hnsw does not apply to an index
index create run E.csv --store qdrant://a#b --words w -> --words does not apply to a store of a database
index create run E.csv --out o --words w -> --words w applies to --network
search q.jpg --index ix --words w -> --words w applies to words, and every query is a photo
index create run E.csv --store qdrant://a#b --links 8 -> --links applies to --hnsw, which is missing
index push ix --to qdrant://a#b --build 99 -> --build applies to --hnsw, which is missing
`) {
		args, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		code, out, stderr := runArgs(t, strings.Fields(args)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s%s", args, code, out, stderr)
		}
	}
}

// runLookup runs a command line, and a server until it listens.
func runLookup(t *testing.T, cmd *cobra.Command, line string) (code int, out string) {
	t.Helper()
	args := strings.Fields(line)
	if cmd.Name() != "serve" {
		code, out, stderr := runArgs(t, args...)
		return code, out + stderr
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	said := &cancelWriter{at: "\n", cancel: cancel} // that it listens
	var log safeBuffer
	code = execute(ctx, append(args, "--listen", "127.0.0.1:0"), said, &log)
	return code, said.said.String() + log.String()
}

// makeLookupSources makes what is looked into in a new working directory, and returns the address of a store.
func makeLookupSources(t *testing.T) string {
	t.Helper()
	_, address := fakeqdrant.New(t)
	address = "qdrant://" + address + "#photos"
	t.Chdir(t.TempDir())
	labels, more, wide := "path,label\n", "path,other\n", "path,label\n"
	for c := range 20 {
		for i := range 10 {
			var b bytes.Buffer
			if err := png.Encode(&b, drawPattern(c, i)); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("c%d/%d.png", c, i)
			writeBytes(t, filepath.Join("photos", name), b.Bytes())
			if c < 6 && i < 3 {
				writeBytes(t, filepath.Join("few", name), b.Bytes())
			}
			labels += fmt.Sprintf("%s,d%d\n", name, i%4)
			more += fmt.Sprintf("%s,e%d\n", name, c%5)
			wide += fmt.Sprintf("%s,w%d\n", name, (c+i)%20)
		}
	}
	writePatternFolder(t, "strange", 100, 120, 4)
	writePatternPhotos(t, "flat", 100, 130)
	makeOld(t, "photos")
	var b bytes.Buffer
	if err := errors.Join(jpeg.Encode(&b, drawPattern(0, 50), nil), os.Mkdir("sets", 0o777)); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, "q.jpg", b.Bytes())
	writeBytes(t, "other.csv", []byte(labels))
	writeBytes(t, "more.csv", []byte(more))
	writeBytes(t, "wide.csv", []byte(wide))
	mustRun(t, "train", "--data", "photos", "--out", "run", "--set", "train.epochs=3", "--set", "network.name=mlp",
		"--set", "network.width=32", "--set", "data.validation=classes:0.5")
	mustRun(t, "export", "run", "--out", "m.onnx")
	makeTextTower(t, "tower", 128)
	mustRun(t, "calibrate", "run", "--out", "closed.json")
	for _, name := range []string{"K-check", "K-drift", "L-check", "L-drift"} {
		mustRun(t, "calibrate", "run", "--data", "strange", "--out", name+".json")
	}
	mustRun(t, "embed", "run", "photos", "--out", "E.parquet")
	mustRun(t, "embed", "run", "few", "--out", "Q.csv")
	mustRun(t, "index", "create", "run", "photos", "--out", "ix", "--columns", "more.csv")
	mustRun(t, "index", "create", "run", "strange", "--out", "strange.ix")
	mustRun(t, "index", "push", "ix", "--to", address)
	mustRun(t, "index", "push", "ix", "--to", address+"2")
	mustRun(t, "clean", "run", "--out", "suspects")
	mustRun(t, "serve", "key", "--name", "phone", "--file", "keys.txt")
	addOtherColumn(t, "E.parquet")
	writeOpenCalibration(t, "C.json")
	calibrateSources(t)
	return address
}

// addOtherColumn adds a column to a file of embeddings, and writes it as E.csv.
func addOtherColumn(t *testing.T, file string) {
	t.Helper()
	e, err := cli.EmbeddingFormats().Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var other []string
	for i := range e.X.Rows {
		other = append(other, fmt.Sprintf("e%d", i%5))
	}
	e.Columns = append(e.Columns, embedding.NewColumn("other", other))
	if err := embedding.Write("E.csv", e); err != nil {
		t.Fatal(err)
	}
}

// calibrateSources makes C.json and closed.json calibrations of each source.
func calibrateSources(t *testing.T) {
	t.Helper()
	m, err := run.Load("run")
	if err != nil {
		t.Fatal(err)
	}
	onnx, _, err := run.Import("m.onnx", "", run.DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ofRun, err := calibrations.FromNetwork(m, "run", "")
	if err != nil {
		t.Fatal(err)
	}
	ofONNX, err := calibrations.FromNetwork(onnx, "", "m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open("ix", index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ofIndex, err := provenance.IndexNetwork(x)
	if err != nil {
		t.Fatal(err)
	}
	for source, of := range map[string]embedding.Network{"run": ofRun.Source, "embeddings": ofRun.Source,
		"store": ofRun.Source, "network": ofONNX.Source, "index": ofIndex, "vectors": {}} {
		for _, name := range []string{"C", "closed"} {
			c, err := decide.Load(name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			c.Source = of
			if err := c.Save(name + "-" + source + ".json"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// writeOpenCalibration calibrates on 60 drawn classes, whose rows have length 1.
func writeOpenCalibration(t *testing.T, to string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 9))
	const dim, each = 128, 8
	k := &embedding.Table{X: matrix.New(60*each, dim)}
	var labels []string
	for c := range 60 {
		var centre [dim]float64
		for d := range centre {
			centre[d] = rng.NormFloat64()
		}
		for range each {
			row, sum := k.X.Row(len(labels)), 0.0
			for d := range row {
				v := centre[d] + 0.3*rng.NormFloat64()
				row[d], sum = float32(v), sum+v*v
			}
			for d := range row {
				row[d] /= float32(math.Sqrt(sum))
			}
			labels = append(labels, fmt.Sprintf("k%d", c))
		}
	}
	k.Columns = []embedding.Column{embedding.NewColumn("label", labels)}
	if err := embedding.Write("K.csv", k); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "calibrate", "K.csv", "--out", to)
}
