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
		Peer: &Setting{Versions: map[string]string{"PyTorch": "9", "faiss": "8"}, BLAS: "OpenBLAS, pthreads",
			CoreType: "Zen", Threads: 2,
			CoreTypes: []CoreType{{"Prescott", 60, true}, {"Zen", 355, false}}},
		Results: []Result{
			{Case: "rank-60502x512", Times: Times{4600, 4500, 4700}},
			{Case: "mnist-step-b128", Times: Times{10, 9, 11.5},
				Peer: &PeerTimes{"mnist-step-b128-cl", Times{25, 24, 26}}, Ratio: 2.5},
		},
	}
}

func TestRecordsAreWhatWasSaved(t *testing.T) {
	dir := t.TempDir()
	if _, err := Records(dir); err == nil {
		t.Error("no error for a folder without records")
	}
	if err := toyRecord().Save(filepath.Join(dir, "toy.json")); err != nil {
		t.Fatal(err)
	}
	records, err := Records(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(Page(records)), string(Page([]*Record{toyRecord()})); got != want {
		t.Errorf("page of what was read:\n%s\nwant\n%s", got, want)
	}
	for name, text := range map[string]string{
		"broken": "{", "empty": "{}",
		"timeless": `{"processor": "p", "cores": 1, "level": "go", "taken": "t", "method": "m", "results": [{"case": "c"}]}`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name+".json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Records(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}

func TestPageShowsHowFiguresWereTaken(t *testing.T) {
	page := string(Page([]*Record{toyRecord()}))
	for _, want := range []string{
		"| `mnist-step-b128` | 10.0 (9.00-11.5) | 25.0 (24.0-26.0) -cl | 2.50x |",
		"PyTorch 9, faiss 8, 2 threads, products by OpenBLAS, pthreads, core type Zen (GFLOP/s: Prescott 60 by its " +
			"own guess, Zen 355)",
		"load before the first case 0.02",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "rank-60502x512") {
		t.Errorf("the page has a case that was timed without a peer:\n%s", page)
	}
}

func TestRatios(t *testing.T) {
	guess := toyRecord()
	guess.Processor, guess.Remark, guess.Results = "Old", "The peer was not at its best.", guess.Results[:1]
	got := Ratios([]*Record{toyRecord(), guess})
	want := `| what | ` + "`kindred bench`" + ` case | Toy | Old |
|---|---|---|---|
| training step, MNIST net, batch 128 ¹ | ` + "`mnist-step-b128`" + ` | **2.50x** (10.0 ms) |  |

Toy: 2 cores, 2026-01-02.

Old: 2 cores, 2026-01-02. The peer was not at its best.
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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
