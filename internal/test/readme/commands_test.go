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
	pages := documentedCommands(t)
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
	pages = append(pages, helpExamples(t, bin, nil)...)
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

// commandRule is how a command is run that cannot run as written.
type commandRule struct {
	match *regexp.Regexp
	// add is appended; instead, if set, replaces the match. fails means that the
	// command must fail and say this.
	add, instead, fails string
	skip                bool
	why                 string
}

func ruleFor(pattern string, r commandRule) commandRule {
	r.match = regexp.MustCompile(pattern)
	return r
}

// rules are tried in order, and the first match counts. Other commands run as written.
var rules = []commandRule{
	ruleFor(`^make build\b`,
		commandRule{skip: true, why: "the test builds the program with the same go build; the target must exist"}),
	ruleFor(`^make demo\b`, commandRule{instead: "kindred reproduce mnist --fast --out reports/mnist",
		why: "the same experiment in its fast size; minutes otherwise"}),
	ruleFor(`^make (test|bench|gen|fmt|lint|race|promises)\b`,
		commandRule{skip: true,
			why: "they change the checkout, contain this test or take hours; the target must exist"}),
	ruleFor(`(^| )go test `, commandRule{skip: true, why: "a measurement of minutes; CI runs the tests themselves"}),
	ruleFor(`python3 `, commandRule{skip: true, why: "needs PyTorch or Pillow and ../shared; the script must exist"}),
	ruleFor(`^kindred data get `, commandRule{add: " --offline", fails: "the official file has",
		why: "the stand-in is not the official file, and no network is used"}),
	ruleFor(`^kindred index push `, commandRule{skip: true, why: "needs a database; tests of the command push into some"}),
	ruleFor(`^kindred (index )?(create|search) .*--store `, commandRule{skip: true,
		why: "needs a database; TestStoreCommands has one of Qdrant's protocol"}),
	ruleFor(`^kindred eval --embeddings (LFW|Q)\.parquet `, commandRule{skip: true,
		why: "needs a list of pairs, or queries that the gallery does not hold; tests of the command have both"}),
	ruleFor(`^kindred (calibrate runs/photos|identify photo.jpg --run runs/photos --in photos/)$`, commandRule{}),
	ruleFor(`^kindred (calibrate|identify) `, commandRule{skip: true, why: "the stand-ins have fewer than ten classes that " +
		"training did not see; TestDecisionsDocument, TestOpenRun and TestCalibrateAndIdentify have"}),
	ruleFor(`^kindred (index )?search .*--least `, commandRule{skip: true, why: "needs a calibration; TestSearchLeast has one"}),
	ruleFor(`^kindred reproduce decide\b`,
		commandRule{skip: true, why: "the stand-in has fewer letters than can be calibrated on; " +
			"TestDecisions has them"}),
	ruleFor(`^kindred index sync .*--watch`,
		commandRule{skip: true, why: "goes on until it is stopped; a test of the command stops " +
			"it"}),
	ruleFor(`^kindred index sync `, commandRule{add: " --yes", why: "a tenth of the stand-ins is few photos"}),
	ruleFor(`^kindred serve key `, commandRule{}),
	ruleFor(`^kindred serve `,
		commandRule{skip: true, why: "listens until it is stopped; a test of the command serves, and sends " +
			"the requests of docs/serve.md"}),
	ruleFor(`^kindred init photos/$`, commandRule{add: " --force", why: "the stand-ins have a run.yaml for other commands"}),
	ruleFor(`^kindred embed .*--out E\.`, commandRule{add: " --force", why: "other pages have files of these names"}),
	ruleFor(`^kindred weights get `, commandRule{add: " --offline", fails: "fetching is off (offline)",
		why: "no network is used"}),
	ruleFor(`^kindred (index (create clip-|search photos.index .*( \+ |" ?$|red boot))|search "a red boot")`, commandRule{
		skip: true, why: "needs a text tower, which is fetched; TestSearchByWords has one"}),
	ruleFor(`^kindred search \S+ --in \S+$`, commandRule{skip: true, why: "needs a pretrained network, which is fetched; " +
		"TestSearchWithoutARun has one"}),
	ruleFor(`^kindred worker .*--launch `, commandRule{}),
	ruleFor(`^kindred worker `, commandRule{skip: true, why: "takes jobs until it is stopped; tests of the command start workers"}),
	ruleFor(`^kindred .*--queue (nats|tls)://`, commandRule{skip: true, why: "needs a cluster; a test of the command starts one"}),
	ruleFor(`^kindred .*--data s3://`, commandRule{skip: true, why: "needs a server of S3's protocol; tests have one"}),
	ruleFor(`^kindred jobs (cancel|retry) `, commandRule{fails: "has no job", why: "the key is an example's"}),
	ruleFor(`^kindred reproduce .*network\.pretrained=`, commandRule{skip: true, why: "needs a file of weights"}),
	ruleFor(`^kindred train .*network\.pretrained=`, commandRule{skip: true, why: "needs a file of weights that is fetched"}),
	ruleFor(`^kindred quantize runs/birds `, commandRule{skip: true, why: "needs the run of such a training"}),
	ruleFor(`^kindred train --data photos/ --set network.freeze=body$`, commandRule{add: " --set network.pretrained=none",
		why: "needs a file of weights that is fetched; random features train as well"}),
	ruleFor(`^kindred discover runs/photos --out kinds$`, commandRule{add: " --level 1",
		why: "the classes of the stand-ins are of one kind, and hierarchical batches need several"}),
	ruleFor(`^kindred train .*network\.precision=bfloat16`,
		commandRule{add: " --set train.epochs=1 --set sample.batches=1",
			why: "processors without bfloat16 imitate it, slowly: one epoch of one step"}),
	ruleFor(`^kindred train .*--data omniglot\b`,
		commandRule{add: " --set train.epochs=1 --set sample.batches=2 --set data.test_limit=2",
			why: "1,623 letters take minutes: one epoch of two steps"}),
	ruleFor(`^kindred reproduce document\b`, commandRule{skip: true, why: "rewrites a page from hours of experiments"}),
	ruleFor(`^kindred reproduce list\b`, commandRule{}),
	ruleFor(`^kindred reproduce tune omniglot\b`, commandRule{skip: true,
		why: "the stand-in has fewer alphabets than the batches that are tried; the same command runs on mnist"}),
	ruleFor(`^kindred reproduce tune `, commandRule{add: " --trials 2 --set train.epochs=2 --set sample.batches=2",
		why: "a quarter of an hour otherwise: two trials of four steps"}),
	ruleFor(`^kindred reproduce clean(ed)?(-mnist)?\b`, commandRule{skip: true,
		why: "folds of the stand-in's few pictures leave no two of a class; a test of the experiments runs it"}),
	ruleFor(`^kindred reproduce `, commandRule{add: " --fast --seeds 1 --set train.epochs=1 --set sample.batches=2 --set " +
		"data.train_limit=3 --set data.test_limit=2",
		why: "minutes to hours otherwise: the fast size, one seed, two steps"}),
	ruleFor(`^kindred bench gemm-2048x2048x2048\b`,
		commandRule{instead: "kindred bench triplet-n512-d128 --json",
			why: "a product of 17 GFLOP takes seconds on plain Go kernels"}),
	ruleFor(`^kindred bench( --json)?$`, commandRule{add: " triplet-n128-d128", why: "all cases take minutes"}),
	ruleFor(`^kindred bench( .*)? --peer \S+`, commandRule{skip: true, why: "needs PyTorch; the script must exist"}),
	ruleFor(`^kindred theory noise\b`, commandRule{add: " --restarts 1 --draws 50 --per-class 2", why: "a minute otherwise"}),
	ruleFor(`^kindred theory field( --loss \S+)?$`,
		commandRule{add: " --gamma 0.5 --p 0", why: "a minute with all angles and entanglements"}),
	ruleFor(`^kindred theory isometry\b`, commandRule{add: " --help",
		why: "its map of collapse takes half a minute at any setting, and tests of " +
			"internal/app/experiments/theory/pages draw " +
			"it; the flags are checked"}),
}

// command is a documented command line.
type command struct{ where, text string }

// commandPage is a sequence of commands that a reader types one after the other.
type commandPage struct {
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

// markdownFiles lists README and the pages below docs.
func markdownFiles(t *testing.T) []string {
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

// documentedCommands lists the commands of README and of all pages below docs: lines of
// fenced sh blocks, and indented lines that begin with a program.
func documentedCommands(t *testing.T) []commandPage {
	t.Helper()
	var pages []commandPage
	for _, file := range markdownFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		if p := parseCommands(name, string(text)); len(p.commands) > 0 {
			pages = append(pages, p)
		}
	}
	return pages
}

func parseCommands(name, text string) commandPage {
	p := commandPage{name: name}
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

// helpExamples lists the examples in the help of a command and those below it.
func helpExamples(t *testing.T, bin string, path []string) []commandPage {
	t.Helper()
	out, err := exec.Command(bin, append(slices.Clone(path), "--help")...).Output()
	if err != nil {
		t.Fatalf("kindred %s --help: %v", strings.Join(path, " "), err)
	}
	p := commandPage{name: strings.Join(append([]string{"kindred"}, path...), " ") + " --help"}
	var pages []commandPage
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
				pages = append(pages, helpExamples(t, bin, append(slices.Clone(path), sub))...)
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
	for _, file := range markdownFiles(t) {
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
	text, r := strings.TrimPrefix(c.text, "bin/"), commandRule{}
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
	p := parseCommands("x.md",
		"text\n\n```sh\nkindered train   # typo\nkindred a \\\n  b\n```\n\n    kindred c --d   # "+
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
