package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func toyRecord() *Record {
	load := 0.02
	return &Record{
		Processor: "Toy", Cores: 2, Level: "avx2", Taken: "2026-01-02", Method: Method, Load: &load,
		Peers: []Setting{
			{Versions: map[string]string{"PyTorch": "9.1.0", "torch.compile": "by g++ 14", "faiss": "8"},
				BLAS: "OpenBLAS, pthreads", CoreType: "Zen", Threads: 2, Kernels: "AVX2",
				CoreTypes: []CoreType{{"Prescott", 60, true}, {"Zen", 355, false}}},
			{Versions: map[string]string{"ONNX Runtime": "1.30.0"}, Threads: 2, Models: true},
		},
		Results: []Result{
			{Case: "rank-60502x512", Times: Times{4600, 4500, 4700}},
			{Case: "mnist-step-b128", Times: Times{10, 9, 11.5},
				Peer: &PeerTimes{"PyTorch 9.1", "mnist-step-b128-cl", Times{25, 24, 26}}, Ratio: 2.5},
		},
	}
}

func TestRecordsAreWhatWasSaved(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadRecords(dir); err == nil {
		t.Error("no error for a folder without records")
	}
	if err := toyRecord().Save(filepath.Join(dir, "toy.json")); err != nil {
		t.Fatal(err)
	}
	records, err := ReadRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(FormatPage(records)), string(FormatPage([]*Record{toyRecord()})); got != want {
		t.Errorf("page of what was read:\n%s\nwant\n%s", got, want)
	}
	for name, text := range map[string]string{
		"broken": "{", "empty": "{}",
		"nested":   `{"processor": "p", "cores": 1, "level": "go", "taken": "t", "method": "m", "earlier": [null]}`,
		"timeless": `{"processor": "p", "cores": 1, "level": "go", "taken": "t", "method": "m", "results": [{"case": "c"}]}`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name+".json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecords(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}

func TestPageShowsHowFiguresWereTaken(t *testing.T) {
	page := string(FormatPage([]*Record{toyRecord()}))
	for _, want := range []string{
		"|`mnist-step-b128`|10.0 (9.00-11.5)|25.0 (24.0-26.0) PyTorch 9.1 -cl|2.50x|",
		"- Peer: PyTorch 9.1.0, faiss 8, torch.compile by g++ 14, 2 threads, kernels: AVX2, products by OpenBLAS, " +
			"pthreads, core type Zen (GFLOP/s: Prescott 60 by its own guess, Zen 355).\n",
		"- Peer: ONNX Runtime 1.30.0, 2 threads.\n",
		"load before the first case 0.02",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Missing") {
		t.Errorf("all peers were there, and the page says that some were missing:\n%s", page)
	}
	r := toyRecord()
	r.Peers = r.Peers[:1]
	delete(r.Peers[0].Versions, "torch.compile")
	r.Peers[0].Missing = map[string]string{"torch.compile": "no g++"}
	page = string(FormatPage([]*Record{r}))
	if !strings.Contains(page, "\n- Missing: torch.compile (no g++), ONNX Runtime.\n") {
		t.Errorf("the page does not say what was missing:\n%s", page)
	}
	if strings.Contains(page, "rank-60502x512") {
		t.Errorf("the page has a case that was timed without a peer:\n%s", page)
	}
}

func TestRatios(t *testing.T) {
	guess := toyRecord()
	guess.Processor, guess.Remark, guess.Results = "Old", "The peer was not at its best.", guess.Results[:1]
	guess.Earlier = []*Record{toyRecord(), toyRecord()}
	guess.Earlier[0].Taken, guess.Earlier[0].Remark = "2026-01-01", "The load was high."
	guess.Earlier[1].Remark = "Not shown: a later run has all its cases."
	got := FormatRatios([]*Record{toyRecord(), guess})
	want := `| what | ` + "`kindred bench`" + ` case | Toy | Old |
|---|---|---|---|
| training step, MNIST net, batch 128 ¹ | ` + "`mnist-step-b128`" + ` | **2.50x** (10.0 ms), PyTorch 9.1 | ` +
		`**2.50x** (10.0 ms), PyTorch 9.1, 2026-01-01 |

Toy: 2 cores, 2026-01-02.

Old: 2 cores, 2026-01-02. Of 2026-01-01: The load was high.
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRecordsWithOnePeer reads a record of the time when there was one peer, which is not named beside
// each case.
func TestRecordsWithOnePeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.json")
	if err := os.WriteFile(path, []byte(`{
		"processor": "p", "cores": 2, "level": "go", "taken": "2025-01-01", "method": "m",
		"peer": {"env": {}, "versions": {"PyTorch": "1.13.0a0", "faiss": "1.7.3"}, "blas": "B", "core_type": "C",
			"threads": 2},
		"results": [
			{"case": "mnist-step-b128", "median_ms": 2, "peer": {"variant": "mnist-step-b128-cl", "median_ms": 3}, "ratio": 1.5},
			{"case": "search-60502x512-q6000", "median_ms": 2,
				"peer": {"variant": "search-60502x512-q6000", "median_ms": 5}, "ratio": 2.5}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	old, err := ReadRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(FormatPage([]*Record{old}))
	for _, want := range []string{
		"|`mnist-step-b128`|2.00|3.00 PyTorch 1.13 -cl|1.50x|", "|5.00 faiss 1.7|2.50x|",
		"- 2025-01-01, 2 cores",
		"- Peer: PyTorch 1.13.0a0, faiss 1.7.3, 2 threads, products by B, core type C.\n" +
			"- Missing: torch.compile, ONNX Runtime.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}

	// What a later run did not time stays, with its day and its peer, also when that is saved and read.
	r := toyRecord()
	for range 2 {
		if err := r.MergeResults(old).Save(path); err != nil {
			t.Fatal(err)
		}
		if old, err = ReadRecord(path); err != nil {
			t.Fatal(err)
		}
	}
	page = string(FormatPage([]*Record{old}))
	for _, want := range []string{
		"|`mnist-step-b128`|10.0 (9.00-11.5)|25.0 (24.0-26.0) PyTorch 9.1 -cl|2.50x|",
		"\n### Toy: cases not timed since, 2025-01-01\n\nm\n\n- 2025-01-01, 2 cores",
		"|5.00 faiss 1.7|2.50x|",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if n := strings.Count(page, "|`mnist-step-b128`|"); n != 1 {
		t.Errorf("the page has a case %d times that was timed again:\n%s", n, page)
	}
}

// TestRunsOfADay joins what was timed on one day in the same way, and nothing else.
func TestRunsOfADay(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Record)
		joined bool
	}{
		"the same": {func(r *Record) { r.Load, r.Peers[0].CoreTypes = nil, nil }, true},
		"day":      {func(r *Record) { r.Taken = "2026-01-01" }, false},
		"method":   {func(r *Record) { r.Method = "By eye." }, false},
		"remark":   {func(r *Record) { r.Remark = "The load was high." }, false},
		"go":       {func(r *Record) { r.Go = "go1.1" }, false},
		"kernels":  {func(r *Record) { r.Level = "go" }, false},
		"version":  {func(r *Record) { r.Peers[1].Versions["ONNX Runtime"] = "1.29" }, false},
		"one peer": {func(r *Record) { r.Peers = r.Peers[:1] }, false},
	} {
		r, before := toyRecord(), toyRecord()
		r.Results, before.Results = r.Results[:1], before.Results[1:]
		tc.change(before)
		r = r.MergeResults(before)
		if joined := len(r.Results) == 2 && len(r.Earlier) == 0; joined != tc.joined || !joined && len(r.Earlier) != 1 {
			t.Errorf("another %s: %d results and %d earlier runs", name, len(r.Results), len(r.Earlier))
		}
		if r.latestRecord("mnist-step-b128") == nil {
			t.Errorf("another %s: a case was lost", name)
		}
	}
}

func TestProcessor(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R)  Processor\n\nmodel name\t: " +
			"other\n": "Intel Xeon Processor, family 6 model 207",
		"model name\t: A\n": "A",
	} {
		if got := parseProcessor([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := parseProcessor(nil); !strings.Contains(got, "/") {
		t.Errorf("without a name: %q, want system and architecture", got)
	}
}
