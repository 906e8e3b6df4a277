package readme

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDocumentedCommands runs every command of README, of the pages below docs and
// of the commands' help as written, in a folder of small stand-ins: photographs,
// embeddings, runs, and data sets by name in their official layouts below
// $KINDRED_DATA (see fixtures_test.go). The commands of a page run in order in one
// folder. What cannot run as written has a rule with the reason; a command that the
// test does not understand is a failure.
func TestDocumentedCommands(t *testing.T) {
	pages := documented(t)
	n := 0
	for _, p := range pages {
		n += len(p.commands)
		for _, c := range p.commands {
			if word := firstWord(c.text); !slices.Contains(programs, word) {
				t.Errorf("%s: %s: no rule says how to run %q; add it to programs or rules", c.where, c.text, word)
			}
		}
	}
	if n < 30 {
		t.Fatalf("only %d commands found: the test does not see the pages", n)
	}
	if testing.Short() {
		t.Skip("commands are run without -short")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the commands are written for a shell: ", err)
	}
	bin := buildKindred(t)
	pages = append(pages, examples(t, bin, nil)...)
	w := newWorkspace(t, bin)
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			dir := w.folder(t, p)
			for _, c := range p.commands {
				w.run(t, dir, c)
			}
		})
	}
}

// programs are the words that a documented command may begin with.
var programs = []string{"kindred", "make", "go", "/usr/bin/python3", "python3"}

// rule is how a command is run that cannot run as written.
type rule struct {
	match *regexp.Regexp
	// add is appended; instead, if set, replaces the match. fails means that the
	// command must fail and say this.
	add, instead, fails string
	skip                bool
	why                 string
}

func on(pattern string, r rule) rule {
	r.match = regexp.MustCompile(pattern)
	return r
}

// rules are tried in order, and the first match counts. Other commands run as written.
var rules = []rule{
	on(`^make build\b`,
		rule{skip: true, why: "the test builds the program with the same go build; the target must exist"}),
	on(`^make demo\b`, rule{instead: "kindred reproduce mnist --fast --out reports/mnist",
		why: "the same experiment in its fast size; minutes otherwise"}),
	on(`^make (test|bench|gen|fmt|lint|race|promises)\b`,
		rule{skip: true, why: "they change the checkout, contain this test or take hours; the target must exist"}),
	on(`(^| )go test `, rule{skip: true, why: "a measurement of minutes; CI runs the tests themselves"}),
	on(`python3 `, rule{skip: true, why: "needs PyTorch or Pillow and ../shared; the script must exist"}),
	on(`^kindred data get `, rule{add: " --offline", fails: "the official file has",
		why: "the stand-in is not the official file, and no network is used"}),
	on(`^kindred index push `, rule{skip: true, why: "needs a database; tests of the command push into some"}),
	on(`^kindred (index )?(create|search) .*--store `, rule{skip: true,
		why: "needs a database; TestStoreCommands has one of Qdrant's protocol"}),
	on(`^kindred eval --embeddings (LFW|Q)\.parquet `, rule{skip: true,
		why: "needs a list of pairs, or queries that the gallery does not hold; tests of the command have both"}),
	on(`^kindred (calibrate runs/photos|identify photo.jpg --run runs/photos --in photos/)$`, rule{}),
	on(`^kindred (calibrate|identify) `, rule{skip: true, why: "the stand-ins have fewer than ten classes that " +
		"training did not see; TestDecisionsDocument, TestOpenRun and TestCalibrateAndIdentify have"}),
	on(`^kindred (index )?search .*--least `, rule{skip: true, why: "needs a calibration; TestSearchLeast has one"}),
	on(`^kindred reproduce decide\b`,
		rule{skip: true, why: "the stand-in has fewer letters than can be calibrated on; " +
			"TestDecisions has them"}),
	on(`^kindred index sync .*--watch`,
		rule{skip: true, why: "goes on until it is stopped; a test of the command stops " +
			"it"}),
	on(`^kindred index sync `, rule{add: " --yes", why: "a tenth of the stand-ins is few photos"}),
	on(`^kindred serve key `, rule{}),
	on(`^kindred serve `,
		rule{skip: true, why: "listens until it is stopped; a test of the command serves, and sends " +
			"the requests of docs/serve.md"}),
	on(`^kindred init photos/$`, rule{add: " --force", why: "the stand-ins have a run.yaml for other commands"}),
	on(`^kindred embed .*--out E\.`, rule{add: " --force", why: "other pages have files of these names"}),
	on(`^kindred weights get `, rule{add: " --offline", fails: "fetching is off (offline)",
		why: "no network is used"}),
	on(`^kindred (index (create clip-|search photos.index .*( \+ |" ?$|red boot))|search "a red boot")`, rule{
		skip: true, why: "needs a text tower, which is fetched; TestSearchByWords has one"}),
	on(`^kindred search \S+ --in \S+$`, rule{skip: true, why: "needs a pretrained network, which is fetched; " +
		"TestSearchWithoutARun has one"}),
	on(`^kindred worker .*--launch `, rule{}),
	on(`^kindred worker `, rule{skip: true, why: "takes jobs until it is stopped; tests of the command start workers"}),
	on(`^kindred .*--queue (nats|tls)://`, rule{skip: true, why: "needs a cluster; a test of the command starts one"}),
	on(`^kindred .*--data s3://`, rule{skip: true, why: "needs a server of S3's protocol; tests have one"}),
	on(`^kindred jobs (cancel|retry) `, rule{fails: "has no job", why: "the key is an example's"}),
	on(`^kindred reproduce .*network\.pretrained=`, rule{skip: true, why: "needs a file of weights"}),
	on(`^kindred train .*network\.pretrained=`, rule{skip: true, why: "needs a file of weights that is fetched"}),
	on(`^kindred quantize runs/birds `, rule{skip: true, why: "needs the run of such a training"}),
	on(`^kindred train --data photos/ --set network.freeze=body$`, rule{add: " --set network.pretrained=none",
		why: "needs a file of weights that is fetched; random features train as well"}),
	on(`^kindred discover runs/photos --out kinds$`, rule{add: " --level 1",
		why: "the classes of the stand-ins are of one kind, and hierarchical batches need several"}),
	on(`^kindred train .*network\.precision=bfloat16`,
		rule{add: " --set train.epochs=1 --set sample.batches=1",
			why: "processors without bfloat16 imitate it, slowly: one epoch of one step"}),
	on(`^kindred train .*--data omniglot\b`,
		rule{add: " --set train.epochs=1 --set sample.batches=2 --set data.test_limit=2",
			why: "1,623 letters take minutes: one epoch of two steps"}),
	on(`^kindred reproduce document\b`, rule{skip: true, why: "rewrites a page from hours of experiments"}),
	on(`^kindred reproduce list\b`, rule{}),
	on(`^kindred reproduce tune omniglot\b`, rule{skip: true,
		why: "the stand-in has fewer alphabets than the batches that are tried; the same command runs on mnist"}),
	on(`^kindred reproduce tune `, rule{add: " --trials 2 --set train.epochs=2 --set sample.batches=2",
		why: "a quarter of an hour otherwise: two trials of four steps"}),
	on(`^kindred reproduce clean(ed)?(-mnist)?\b`, rule{skip: true,
		why: "folds of the stand-in's few pictures leave no two of a class; a test of the experiments runs it"}),
	on(`^kindred reproduce `, rule{add: " --fast --seeds 1 --set train.epochs=1 --set sample.batches=2 --set " +
		"data.train_limit=3 --set data.test_limit=2",
		why: "minutes to hours otherwise: the fast size, one seed, two steps"}),
	on(`^kindred bench gemm-2048x2048x2048\b`,
		rule{instead: "kindred bench triplet-n512-d128 --json",
			why: "a product of 17 GFLOP takes seconds on plain Go kernels"}),
	on(`^kindred bench( --json)?$`, rule{add: " triplet-n128-d128", why: "all cases take minutes"}),
	on(`^kindred bench( .*)? --peer \S+`, rule{skip: true, why: "needs PyTorch; the script must exist"}),
	on(`^kindred theory noise\b`, rule{add: " --restarts 1 --draws 50 --per-class 2", why: "a minute otherwise"}),
	on(`^kindred theory field( --loss \S+)?$`,
		rule{add: " --gamma 0.5 --p 0", why: "a minute with all angles and entanglements"}),
	on(`^kindred theory isometry\b`, rule{add: " --help",
		why: "its map of collapse takes half a minute at any setting, and tests of " +
			"internal/app/experiments/theory/pages draw " +
			"it; the flags are checked"}),
}

// command is a documented command line.
type command struct{ where, text string }

// page is a sequence of commands that a reader types one after the other.
type page struct {
	name     string
	commands []command
}

var (
	root     = filepath.Join("..", "..", "..")
	indented = regexp.MustCompile(
		`^(?: {4,}|\t)((?:[A-Z_]+=\S+ )*(?:kindred|bin/kindred|make|go (?:test|build|run|install|get)|\S*python3|npm|pip|curl|apt-get|sudo|docker) .*)$`)
	comment  = regexp.MustCompile(`\s+#.*$`)
	settings = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )+`)
)

// markdown lists README and the pages below docs.
func markdown(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// documented lists the commands of README and of all pages below docs: lines of
// fenced sh blocks, and indented lines that begin with a program.
func documented(t *testing.T) []page {
	t.Helper()
	var pages []page
	for _, file := range markdown(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		if p := commandsOf(name, string(text)); len(p.commands) > 0 {
			pages = append(pages, p)
		}
	}
	return pages
}

func commandsOf(name, text string) page {
	p := page{name: name}
	fence := "" // language of the block that is open
	joined := ""
	for k, line := range strings.Split(text, "\n") {
		where := fmt.Sprintf("%s:%d", name, k+1)
		if lang, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if fence != "" {
				fence = ""
			} else if fence = lang; lang == "" {
				fence = "text"
			}
			continue
		}
		shell := fence == "sh" || fence == "bash" || fence == "shell" || fence == "console"
		switch m := indented.FindStringSubmatch(line); {
		case shell:
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		case fence == "" && m != nil:
			line = m[1]
		default:
			continue
		}
		line = strings.TrimSpace(comment.ReplaceAllString(" "+line, ""))
		if head, more := strings.CutSuffix(line, "\\"); more {
			joined += head
			continue
		}
		line, joined = joined+line, ""
		if line != "" && !strings.HasPrefix(line, "#") {
			p.commands = append(p.commands, command{where, line})
		}
	}
	return p
}

// examples lists the examples in the help of a command and those below it.
func examples(t *testing.T, bin string, path []string) []page {
	t.Helper()
	out, err := exec.Command(bin, append(slices.Clone(path), "--help")...).Output()
	if err != nil {
		t.Fatalf("kindred %s --help: %v", strings.Join(path, " "), err)
	}
	p := page{name: strings.Join(append([]string{"kindred"}, path...), " ") + " --help"}
	var pages []page
	section := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			section = line
		case section == "Examples:" && strings.HasPrefix(line, "  "):
			p.commands = append(p.commands, command{p.name, strings.TrimSpace(comment.ReplaceAllString(line, ""))})
		case section == "Available Commands:" && strings.HasPrefix(line, "  "):
			if sub := strings.Fields(line)[0]; sub != "help" && sub != "completion" {
				pages = append(pages, examples(t, bin, append(slices.Clone(path), sub))...)
			}
		}
	}
	if len(p.commands) > 0 {
		pages = append(pages, p)
	}
	return pages
}

// TestNamedCommandsExist looks up the commands that the pages name in running text,
// with their flags.
func TestNamedCommandsExist(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := buildKindred(t)
	help := map[string]string{}
	helpOf := func(path []string) string {
		key := strings.Join(path, " ")
		if _, ok := help[key]; !ok {
			out, err := exec.Command(bin, append(slices.Clone(path), "--help")...).Output()
			if err != nil {
				t.Fatalf("kindred %s --help: %v", key, err)
			}
			help[key] = string(out)
		}
		return help[key]
	}
	fenced := regexp.MustCompile("(?ms)^```.*?^```")
	span := regexp.MustCompile("`(?:bin/)?kindred\\s([^`]+)`")
	flag := regexp.MustCompile(`^--[a-z][a-z-]*`)
	n := 0
	for _, file := range markdown(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range span.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			n++
			var path []string
			words := strings.Fields(m[1])
			for len(words) > 0 &&
				regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(words[0])+` `).MatchString(helpOf(path)) {
				path, words = append(path, words[0]), words[1:]
			}
			if len(path) == 0 && !strings.HasPrefix(m[1], "-") {
				t.Errorf("%s: `kindred %s`: no such command", file, m[1])
			}
			for _, w := range words {
				if f := flag.FindString(w); f != "" && f != "--help" &&
					!regexp.MustCompile(regexp.QuoteMeta(f)+`\b`).MatchString(helpOf(path)) {
					t.Errorf("%s: `kindred %s`: kindred %s has no flag %s", file, m[1], strings.Join(path, " "), f)
				}
			}
		}
	}
	if n < 20 {
		t.Fatalf("only %d commands found in running text", n)
	}
}

// firstWord returns the program of a command, without the settings before it.
func firstWord(text string) string {
	word, _, _ := strings.Cut(settings.ReplaceAllString(text, ""), " ")
	return strings.TrimPrefix(word, "bin/")
}

// run runs a command in dir, by its rule.
func (w *workspace) run(t *testing.T, dir string, c command) {
	t.Helper()
	text, r := strings.TrimPrefix(c.text, "bin/"), rule{}
	for _, try := range rules {
		if try.match.MatchString(text) {
			r = try
			break
		}
	}
	w.checkNames(t, c)
	if r.skip {
		return
	}
	if r.instead != "" {
		text = r.instead
	}
	text += r.add
	cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
	cmd.Dir, cmd.Env = dir, w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	t.Logf("%5.1fs %s", time.Since(began).Seconds(), text)
	switch {
	case r.fails != "" && (err == nil || !strings.Contains(strings.ToLower(out.String()), r.fails)):
		t.Errorf("%s: %s\nis to fail with %q (%s): %v\n%s", c.where, text, r.fails, r.why, err, out.String())
	case r.fails == "" && err != nil:
		t.Errorf("%s: %s\n%v\n%s", c.where, text, err, lastLines(out.String(), 12))
	}
}

// checkNames looks for the make targets and the scripts that a command names,
// whether it is run or not.
func (w *workspace) checkNames(t *testing.T, c command) {
	t.Helper()
	words := strings.Fields(c.text)
	for k, word := range words {
		switch {
		case k > 0 && words[k-1] == "make" && !strings.Contains(w.makefile, "\n"+word+":"):
			t.Errorf("%s: %s: Makefile has no target %s", c.where, c.text, word)
		case strings.HasSuffix(word, ".py"):
			if _, err := os.Stat(filepath.Join(root, word)); err != nil {
				t.Errorf("%s: %s: %v", c.where, c.text, err)
			}
		}
	}
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// TestUnknownCommandsAreSeen checks that a command without a rule does not pass unnoticed.
func TestUnknownCommandsAreSeen(t *testing.T) {
	p := commandsOf("x.md", "text\n\n```sh\nkindered train   # typo\nkindred a \\\n  b\n```\n\n    kindred c --d   # "+
		"e\n    make f\n    d, err := data.Open()\n\n```go\nkindred := 1\n```\n")
	var got []string
	for _, c := range p.commands {
		got = append(got, c.text)
	}
	if want := []string{"kindered train", "kindred a b", "kindred c --d", "make f"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if slices.Contains(programs, firstWord("kindered train")) || firstWord("GOMAXPROCS=1 A=b go test") != "go" ||
		firstWord("bin/kindred x") != "kindred" {
		t.Error("a program is taken for another")
	}
}
