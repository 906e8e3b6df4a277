package soak

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli/customloss"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/internal/sweep"
	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// trainingReaders read what tells how to train several runs, or with which loss.
func trainingReaders() []mutations.Reader {
	return []mutations.Reader{
		{Name: "sweep plan", Valid: []string{"set: {train.epochs: 4}\nranges:\n" +
			"  train.lr: {low: 0.0001, high: 0.1, log: true}\n  sample.per_class: {low: 2, high: 4}\narms:\n" +
			"  - {name: Triplet, set: {loss.name: triplet}}\ntrials: 4\nreduction: 2\nfolds: 2\n"},
			Read: func(text []byte) error { _, err := sweep.ParsePlan("p.yaml", text); return err }},
		{Name: "plan of a comparison", Valid: []string{"set: {train.epochs: 4}\nfolds: 2\narms:\n" +
			"  - {name: Triplet, set: {loss.name: triplet}}\n  - {name: MS, set: {loss.name: multisimilarity}}\n"},
			Read: func(text []byte) error { _, err := sweep.ParseComparison("p.yaml", text); return err }},
		{Name: "identity of a loss", Valid: []string{`{"kind":"loss","name":"a.b","digest":"c"}`},
			Read: func(text []byte) error {
				length := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
				_, err := customloss.Open("loss", bytes.NewReader(append(length, text...)), io.Discard)
				return err
			}},
	}
}

// TestMutations changes texts of exported readers. Texts that a package reads internally are
// changed by a test of the same name in that package.
func TestMutations(t *testing.T) {
	dir := t.TempDir()
	// file returns a reader of a file with the given name.
	file := func(name string, read func(path string) error) func([]byte) error {
		path := filepath.Join(dir, name)
		return func(text []byte) error {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			return read(path)
		}
	}
	mutations.Try(t, trainingReaders()...)
	mutations.Try(t,
		mutations.Reader{Name: "columns in a database", Valid: []string{`{"price": 2, "label": "x", "new": true}`},
			Read: func(text []byte) error { return strictjson.Unmarshal(text, new(map[string]any)) }},
		mutations.Reader{Name: "calibration", Valid: newCalibrations(t), Read: func(text []byte) error {
			c, err := decide.Read(bytes.NewReader(text))
			if err != nil {
				return err
			}
			_, _ = c.Threshold(0.01)
			_, _ = c.UnknownThreshold(0.05, decide.Gallery{Classes: 10, Items: 30})
			_, _ = c.CoverageDistance(0.9, 3)
			c.MatchProbability(0.5, 0.5)
			return c.CheckNetwork(embedding.Network{}, "", c.Dim)
		}},
		mutations.Reader{Name: "measures of a gallery", Valid: []string{newMeasures(t, dir)}, Read: file("spread.json",
			func(path string) error { _, err := decide.LoadMeasures(path, "these"); return err })},
		mutations.Reader{Name: "decisions about missing photos", Valid: []string{`{"format": 1, "pending": "ab", ` +
			`"since": "2026-01-02T03:04:05Z", "confirmed": true, "kept": ["a.jpg", "b.jpg"]}`},
			Read: file(mirror.RemovalsFileName, func(path string) error {
				_, err := mirror.OpenRemovals(filepath.Dir(path))
				return err
			})},
		mutations.Reader{Name: "review page", Valid: []string{newReviewPage(t)}, Read: file("review.json",
			func(path string) error { _, err := review.Read(path); return err })},
		mutations.Reader{Name: "network", Valid: newNetworks(t), Read: func(text []byte) error {
			_, err := nn.ParseSpec(text)
			return err
		}},
		mutations.Reader{Name: "quantization",
			Valid: []string{`{"format": "kindred-quantization", "version": 1, "ranges": [` +
				`{"layer": "a", "low": -1.5, "high": 2}, {"layer": "b", "low": 0, "high": 1}], "float": ["b"]}`},
			Read: func(text []byte) error { _, err := nn.ParseQuantization(text); return err }},
		mutations.Reader{Name: "safetensors header", Valid: []string{`{"a": {"dtype": "F32", "shape": [2, 2], ` +
			`"data_offsets": [0, 16]}, "b": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]}, "__metadata__": ` +
			`{"kindred.names": "{\"b\": [\"x\"]}"}}`}, Read: func(header []byte) error {
			_, err := safetensors.Parse(newSafetensors(header, 24))
			return err
		}},
		mutations.Reader{Name: "names in safetensors", Valid: []string{`["a.jpg", "b.jpg"]`},
			Read: file("t.safetensors", readNames)},
		mutations.Reader{Name: "run.yaml",
			Valid: []string{"data: {name: mnist, size: 32}\nnetwork: {name: resnet18, dim: 64}\n" +
				"loss: {name: triplet, margin: 0.2}\ntrain: {epochs: 3, lr: 1e-3}\neval: {recall: [1, 2]}\n",
				"data:\n  path: \"a: b\" # c\n  validation: classes:0.5\nloss:\n  name: multisimilarity\n  alpha: 2\n"},
			Read: func(text []byte) error { _, err := run.Parse("c.yaml", text); return err }},
		mutations.Reader{Name: "pairs",
			Valid: []string{"a,b,same\nc,d,0\ne,f,1\ng,h,1\n", "1 1\nAnn 1 2\nAnn 1 Bob 2\n"},
			Read: func(text []byte) error {
				_, err := eval.ReadPairs(bytes.NewReader(text), "pairs.csv")
				return err
			}},
		mutations.Reader{Name: "embeddings",
			Valid: []string{"path,label,e0,e1\na.jpg,u,1,2.5\n\"b,\"\"c\"\".jpg\",v,-3,4e-1\n"},
			Read: file("t.csv", func(path string) error {
				table, err := embedding.Formats{}.Read(path)
				if err != nil {
					return err
				}
				return table.Check()
			})},
		mutations.Reader{Name: "manifest", Valid: []string{
			"path,label,split\nclass0/0.png,class0,train\nclass1/1.png,class1,test\nclass0/2.png,class0,train\n",
			"path,label,coarse,is_query,is_gallery,x_1,y_1,x_2,y_2\nclass0/0.png,a,x,1,0,0,0,4,4\n" +
				"class1/1.png,b,y,0,1,1,1,3,3\n"},
			Read: manifestReader(t)},
	)
}

// TestMutationsOfNetworks changes what says which network made embeddings.
func TestMutationsOfNetworks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.csv")
	if err := os.WriteFile(path, []byte("label,embedding_0\nx,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	beside, err := embedding.Network{Name: "m.onnx", Fingerprint: "k1:0123"}.FileText(path)
	if err != nil {
		t.Fatal(err)
	}
	mutations.Try(t,
		mutations.Reader{Name: "network of embeddings",
			Valid: []string{`{"name":"m.onnx","sum":"k1:0123","preparation":"8 x 8"}`},
			Read:  func(text []byte) error { _, err := embedding.ParseNetwork(text); return err }},
		mutations.Reader{Name: "network beside embeddings", Valid: []string{string(beside)},
			Read: func(text []byte) error {
				if err := os.WriteFile(embedding.NetworkFile(path), text, 0o666); err != nil {
					t.Fatal(err)
				}
				table, err := embedding.Read(path)
				if err == nil && table.NetworkNote() != "" {
					err = errors.New(table.NetworkNote())
				}
				return err
			}},
	)
}

// decoders are the files that decode a text, by what tries them: the name of a reader of a test
// of mutations, or, after "none:", why it takes none.
var decoders = map[string]string{
	"data/internal/layout/inatjson.go":         "annotations of iNaturalist",
	"data/internal/layout/table.go":            "manifest",
	"data/internal/layout/tarindex.go":         "description of a sample",
	"decide/file.go":                           "calibration",
	"decide/score.go":                          "calibration",
	"decide/measures_file.go":                  "measures of a gallery",
	"embedding/csv.go":                         "embeddings",
	"embedding/network.go":                     "network of embeddings",
	"embedding/networkfile.go":                 "network beside embeddings",
	"internal/parquet/pictures.go":             "metadata of Parquet",
	"embedding/tensornames.go":                 "names in safetensors",
	"eval/pairs_read.go":                       "pairs",
	"nn/safetensors/safetensors.go":            "safetensors header",
	"index/manifest.go":                        "manifest of an index",
	"index/segment_read.go":                    "table of a segment",
	"internal/format/tokenizer/parse.go":       "tokenizer.json",
	"internal/base/lock/folder.go":             "none: what is no holder is nobody, of at most 1 MiB",
	"internal/app/cli/results/results.go":      "note of results",
	"internal/app/cli/shards/embed.go":         "result of a shard",
	"internal/app/cli/shards/rank.go":          "set to rank",
	"internal/jobs/natsserver/server.go":       "address of a queue",
	"internal/jobs/natsserver/consumer.go":     "consumer of a queue",
	"internal/jobs/natsserver/repair.go":       "object of a queue",
	"internal/jobs/job.go":                     "spec of a job: ",
	"internal/jobs/queue/jobvalue.go":          "job in a queue",
	"internal/jobs/queue/state.go":             "state of a job",
	"internal/collection/mirror/removals.go":   "decisions about missing photos",
	"internal/collection/mirror/unreadable.go": "list of unreadable files",
	"internal/page/review/live.go":             "review page",
	"nn/json.go":                               "network",
	"internal/network/published/files.go":      "preparation of images",
	"nn/quantization.go":                       "quantization",
	"run/folder.go":                            "config.yaml",
	"run/internal/keys/parse.go":               "run.yaml",
	"run/internal/ranks/ranks.go":              "none: the ranks of one training say it to each other",
	"serve/api/answer_fields.go":               "answer: ",
	"serve/body.go":                            "POST /v1/search",
	"serve/classes.go":                         "PUT /v1/items",
	"serve/review.go":                          "decisions",
	"internal/database/pgvector/pgvector.go":   "columns in a database",
	"internal/database/qdrant/qdrant.go":       "columns in a database",
	"internal/database/weaviate/http.go":       "answer of Weaviate",
	"internal/database/weaviate/weaviate.go":   "answer of Weaviate",
	"internal/app/cli/customloss/own.go":       "identity of a loss",
	"internal/sweep/result_cache.go":           "state of a sweep",
	"internal/sweep/parse.go":                  "sweep plan",
	"internal/sweep/data_check.go":             "data of a sweep",
	"internal/sweep/sweep.go":                  "plan of a sweep",
	"train/checkpoint.go":                      "state of a checkpoint",
	"internal/network/textencoder/config.go":   "configuration of a text tower",
	"internal/app/remote/remotedata/s3.go":     "listing of S3",
}

// decodePattern finds where a text is decoded.
var decodePattern = regexp.MustCompile(`\b(?:json\.(?:Unmarshal|NewDecoder)|strictjson\.[A-Z]\w+|csv\.NewReader|plaintext\.NewRows|` +
	`yaml\.(?:Unmarshal\w*|NewDecoder|NodeToValue)|xml\.(?:Unmarshal|NewDecoder)|ListObjects\w*)\(`)

// TestEveryDecoderIsTried checks that every file that decodes texts is in the table, and that the
// table names readers of tests.
func TestEveryDecoderIsTried(t *testing.T) {
	root := filepath.FromSlash("../../..")
	// Modules of their own, generators, measurements and tests read their own files.
	passed := regexp.MustCompile(`^(?:docs|bench|xla|mpi|internal/test|tools|internal/app/(?:experiments|bench)|` +
		`internal/format/(?:strictjson|plaintext))/`)
	var tests bytes.Buffer
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case strings.HasSuffix(name, "mutations_test.go"):
			tests.Write(text)
		case strings.HasSuffix(name, "_test.go") || passed.MatchString(name):
		case decodePattern.Match(text):
			found[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if decoders[name] == "" {
			t.Errorf("%s decodes a text, and no test changes it: add a mutations.Reader, and its name to the table",
				name)
		}
	}
	for name, reader := range decoders {
		switch {
		case !found[name]:
			t.Errorf("%s is in the table and decodes nothing", name)
		case !strings.HasPrefix(reader, "none: ") && !bytes.Contains(tests.Bytes(), []byte(`"`+reader)):
			t.Errorf("%s: no test has a reader %q", name, reader)
		}
	}
}

// TestMutationsOfPreparations changes the files that say how a network's images are prepared.
func TestMutationsOfPreparations(t *testing.T) {
	mutations.Try(t,
		mutations.Reader{Name: "preparation of images",
			Valid: []string{`{"image_mean": [0.5, 0.4, 0.3], "image_std": ` +
				`[0.5, 0.25, 1], "size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}, "resample": 3, ` +
				`"do_normalize": true, "rescale_factor": 0.00392156862745098}`,
				`{"image_mean": 0.5, "image_std": 2, "size": ` +
					`224, "crop_pct": 0.875}`}, Read: besideReader(t, "preprocessor_config.json")},
		mutations.Reader{Name: "preparation by timm",
			Valid: []string{`{"image_size": 224, "pretrained_cfg": {"mean": ` +
				`[0.5, 0.4, 0.3], "std": [0.5, 0.25, 1], "input_size": [3, 224, 224], "crop_pct": 0.9, "crop_mode": "center", ` +
				`"interpolation": "bicubic"}, "vision_config": {"image_size": [224, 224]}}`},
			Read: besideReader(t, "config.json")},
		mutations.Reader{Name: "published network", Valid: []string{
			`{"model_type": "clip", "projection_dim": 4, "vision_config": {"hidden_size": 160, "num_attention_heads": 2, ` +
				`"hidden_act": "gelu", "layer_norm_eps": 1e-5, "mlp_ratio": 4, "image_size": 224}, "text_config": {}}`,
			`{"architecture": "vit_huge_patch14_224", "global_pool": "token", "model_args": {"num_heads": 4}, ` +
				`"pretrained_cfg": {"mean": [0.5, 0.5, 0.5]}}`,
			`{"model_cfg": {"embed_dim": 4, "quick_gelu": true, "vision_cfg": {"head_width": 80, "layers": 2, "width": ` +
				`160, "norm_kwargs": {"eps": 1e-6}}, "text_cfg": {}}, "preprocess_cfg": {"resize_mode": "squash"}}`},
			Read: networkReader(t)},
	)
}

// networkReader returns a reader of the configuration of a network, which then is compared with weights.
func networkReader(t *testing.T) func(text []byte) error {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	return func(text []byte) error {
		if err := os.WriteFile(config, text, 0o666); err != nil {
			t.Fatal(err)
		}
		n, err := published.Read(filepath.Join(dir, "model.safetensors"), config)
		if err != nil {
			return err
		}
		o := zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Width: 160, Patch: 16, Depth: 2, Hidden: 640}
		if err := n.Tower.Apply("vit_b16", &o); err != nil {
			return err
		}
		_, err = zoo.Network("vit_b16", o)
		return err
	}
}

// besideReader returns a reader of a file beside a network. What it accepts can be used.
func besideReader(t *testing.T, name string) func(text []byte) error {
	dir := t.TempDir()
	return func(text []byte) error {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
		p, _, err := published.ReadPreparation(dir)
		if err != nil {
			return err
		}
		if _, err := prepare.ParseNormalization(p.Pixels); err != nil {
			panic(fmt.Sprintf("%+v: %v", p, err))
		}
		if p.Side < 0 || p.Shorter < 0 || p.Shorter > 0 && p.Shorter < p.Side {
			panic(fmt.Sprintf("%+v", p))
		}
		return nil
	}
}

func newCalibrations(t *testing.T) (valid []string) {
	t.Helper()
	rng := matrix.New(48, 3)
	var labels []int64
	for i := range rng.Data {
		rng.Data[i] = float32(i*i*7919%1000)/1000 + float32(i/12)
	}
	for i := range rng.Rows {
		labels = append(labels, int64(i/4))
	}
	for _, by := range []eval.Distance{eval.Euclidean, eval.Cosine} {
		c, err := decide.Calibrate(t.Context(), rng, labels, decide.Options{Distance: by})
		if err != nil {
			t.Fatal(err)
		}
		items := decide.LabelledEmbeddings{X: rng, Labels: labels}
		z, err := decide.CalibrateClosed(t.Context(), items, items, decide.Options{Distance: by})
		if err != nil {
			t.Fatal(err)
		}
		var open, closed bytes.Buffer
		c.Closed = z.Closed
		if err := c.Write(&open); err != nil {
			t.Fatal(err)
		}
		if err := z.Write(&closed); err != nil {
			t.Fatal(err)
		}
		valid = append(valid, open.String(), closed.String())
	}
	return valid
}

func newMeasures(t *testing.T, dir string) string {
	t.Helper()
	m := decide.Measures{Spread: decide.Spread{"a": {0.5, 0.75, 1}, "b": {0.1, 0.1}},
		StrangerTrial: &decide.StrangerTrial{Strangers: []decide.ClassScores{{Scores: []float64{1, 2, 3}, Group: 1}},
			OwnItems: []decide.ClassScores{{Scores: []float64{-1}}}}}
	path := filepath.Join(dir, "valid.json")
	if err := m.Save(path, "these"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newReviewPage(t *testing.T) string {
	t.Helper()
	p := review.Page{Title: "a <b>", Items: []review.Item{{Path: "a.jpg", Label: "b"}, {Path: "c.jpg", Label: "d"}},
		Cards: []review.Card{{Items: []int{1}, Title: "c"}, {Items: []int{0, 1}}}}
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newNetworks(t *testing.T) (valid []string) {
	t.Helper()
	for _, spec := range netcases.Layers() {
		text, err := spec.JSON()
		if err != nil {
			t.Fatal(err)
		}
		valid = append(valid, string(text))
	}
	return valid
}

// newSafetensors returns a safetensors file with a header and n bytes of data.
func newSafetensors(header []byte, n int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

// readNames writes the text to a file that names the items of a table, and reads the table.
func readNames(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return err
	}
	header := `{"embeddings": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}, "__metadata__": {` +
		`"kindred.path": ` + string(quoted) + `}}`
	if err := os.WriteFile(path, newSafetensors([]byte(header), 16), 0o666); err != nil {
		return err
	}
	_, err = embedding.Formats{}.Read(path)
	return err
}

// manifestReader reads lists of existing pictures.
func manifestReader(t *testing.T) func([]byte) error {
	t.Helper()
	dir := t.TempDir()
	writeManifest(t, dir)
	path := filepath.Join(dir, "list.csv")
	return func(text []byte) error {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := data.Open(t.Context(), path, data.OpenOptions{})
		if err != nil {
			return err
		}
		return d.Close()
	}
}
