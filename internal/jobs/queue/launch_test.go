package queue

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var some = Launch{Count: 4, Args: []string{"--queue", "tls://user:it's@host:4222"}, Image: "kindred: 1 #x", Cores: 2,
	Memory: "8G"}

// TestSlurm runs the script with a stand-in for kindred, which prints its arguments.
func TestSlurm(t *testing.T) {
	text, err := some.File("slurm")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--array=0-3\n", "--cpus-per-task=2\n", "--mem=8G\n", "--signal=B:TERM@60\n"} {
		if !strings.Contains(text, "#SBATCH "+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '<%s>' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "kindred"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", text)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if want := "<worker><--queue><tls://user:it's@host:4222>"; err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}

// A shell reads a word as it was, whatever it holds; what no shell looks at stays plain.
func TestQuote(t *testing.T) {
	const plain = "azAZ09-_./:,=@"
	if got := quote(plain); got != plain {
		t.Errorf("%s for %s", got, plain)
	}
	words := []string{"", "it's", "''", "a b", "é", "-n", "a\nb", "$(x)", "`x`"}
	for c := byte(1); c < 128; c++ {
		word := string([]byte{c})
		if words = append(words, word); strings.Contains(plain, word) {
			continue
		}
		alone := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if quoted := strings.HasPrefix(quote(word), "'"); quoted == alone {
			t.Errorf("%q is written %s", word, quote(word))
		}
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	text := "printf '%s\\0'"
	for _, w := range words {
		text += " " + quote(w)
	}
	out, err := exec.Command("sh", "-c", text).Output()
	if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}

func TestKubernetes(t *testing.T) {
	text, err := some.File("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Kind string
		Spec struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Containers []struct {
						Image     string
						Args      []string
						Resources struct{ Limits map[string]string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &job); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := job.Spec.Template.Spec.Containers
	if job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" || job.Spec.Completions != 4 || len(c) != 1 ||
		c[0].Image != some.Image || len(c[0].Args) != 3 || c[0].Args[2] != some.Args[1] ||
		c[0].Resources.Limits["memory"] != "8G" {
		t.Errorf("%+v", job)
	}
}

func TestLaunchErrors(t *testing.T) {
	for _, c := range []struct {
		system string
		l      Launch
		want   string
	}{
		{"slrum", some, `did you mean "slurm"`},
		{"slurm", Launch{}, "want 1 to 100,000"},
		{"slurm", Launch{Count: -1}, "want 1 to 100,000"},
		{"slurm", Launch{Count: 100_001}, "want 1 to 100,000"},
		{"kubernetes", Launch{Count: 1}, "a container image"},
		{"slurm", Launch{Count: 1, Memory: "8G\n#SBATCH --uid=0"}, "want a number with K"},
	} {
		if text, err := c.l.File(c.system); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s\n%s", err, c.want, text)
		}
	}
}

// What is not said of a worker is not in the file, and one worker or very many are no
// mistake.
func TestLaunchBounds(t *testing.T) {
	for _, c := range []struct {
		system string
		l      Launch
		want   string
	}{
		{"slurm", Launch{Count: 1}, "#!/bin/sh\n#SBATCH --job-name=kindred-worker\n#SBATCH --ntasks=1\n" +
			"#SBATCH --array=0-0\n#SBATCH --signal=B:TERM@60\n#SBATCH --requeue\n" +
			"#SBATCH --open-mode=append\nexec kindred worker\n"},
		{"slurm", Launch{Count: 100_000, Cores: 1}, "--array=0-99999\n#SBATCH --cpus-per-task=1\n"},
		{"kubernetes", Launch{Count: 1, Image: "k"}, "parallelism: 1\n"},
		{"kubernetes", Launch{Count: 1, Image: "k"}, "resources: {requests: {}, limits: {}}\n"},
		{"kubernetes", Launch{Count: 1, Image: "k", Cores: 1}, `requests: {"cpu":"1"}, limits: {"cpu":"1"}`},
	} {
		if text, err := c.l.File(c.system); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s, %+v: %v, want %s\n%s", c.system, c.l, err, c.want, text)
		}
	}
}
