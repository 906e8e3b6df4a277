package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/run"
)

// asProgram tells this test's binary to be kindred-mpi.
const asProgram = "KINDRED_MPI_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(command(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// launcher starts processes; it is of one MPI library.
type launcher struct {
	name string
	args []string
}

// launchers are those of this machine. CI installs both: make mpi.
func launchers(t *testing.T) []launcher {
	t.Helper()
	var there []launcher
	for _, l := range []launcher{
		{"mpirun.openmpi", []string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
			"--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "mpi_yield_when_idle", "1"}},
		{"mpirun.mpich", nil},
	} {
		if _, err := exec.LookPath(l.name); err == nil {
			there = append(there, l)
		}
	}
	if there == nil {
		t.Skip("neither mpirun.openmpi nor mpirun.mpich: on Debian, apt-get install openmpi-bin mpich")
	}
	return there
}

// start begins the program on so many processes.
func (l launcher) start(t *testing.T, ranks int, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(l.name, append(append(l.args, "-np", fmt.Sprint(ranks), self), args...)...)
	var out bytes.Buffer
	cmd.Env = append(os.Environ(), asProgram+"=1", "GOMAXPROCS=1", "OMPI_MCA_plm_rsh_agent=")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// run runs the program on so many processes to its end.
func (l launcher) run(t *testing.T, ranks int, args ...string) (string, error) {
	t.Helper()
	cmd, out := l.start(t, ranks, args...)
	err := cmd.Wait()
	return out.String(), err
}

// photos writes a folder of classes of small pictures, each of its class's colour.
func photos(t *testing.T, perClass int) string {
	t.Helper()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	for c := range 4 {
		folder := filepath.Join(dir, fmt.Sprintf("class%d", c))
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range perClass {
			img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
			for p := 0; p < len(img.Pix); p += 4 {
				shade := uint8(rng.IntN(120))
				img.SetNRGBA(p/4%16, p/64, color.NRGBA{shade + uint8(30*c), shade, 200 - shade, 255})
			}
			var b bytes.Buffer
			if err := png.Encode(&b, img); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.png", i)), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// setting is a training of a second.
func setting(data string, set ...string) []string {
	args := []string{"train", "--data", data}
	for _, s := range append([]string{"network.name=conv4", "network.width=8", "network.dim=8", "data.size=16",
		"sample.views=1", "sample.classes=4", "sample.per_class=4", "sample.batches=5", "train.chunk=3",
		"train.epochs=2",
		"train.checkpoint=1", "data.validation=images:0.25", "network.pretrained=none"}, set...) {
		args = append(args, "--set", s)
	}
	return args
}

// alone trains in this process, without ranks.
func alone(t *testing.T, args []string, dir string) {
	t.Helper()
	var set []string
	data := ""
	for i, a := range args {
		switch a {
		case "--set":
			set = append(set, args[i+1])
		case "--data":
			data = args[i+1]
		}
	}
	cfg, err := run.Parse("", nil, append([]string{fmt.Sprintf("data.path=%q", data)}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Train(t.Context(), cfg, run.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
}

// same compares what decides in two run folders.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	for _, name := range []string{"model.safetensors", "model.json", "config.yaml", "metrics.csv", "embeddings.npy",
		"labels.csv", filepath.Join("checkpoint", "last.safetensors")} {
		a, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(got, name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %s differs from one process's (%v)", what, name, err)
		}
	}
}

// TestRanks checks that 1, 2, 3 and 4 processes of every MPI library write the run folder of one
// process without MPI, to the byte, with losses of each family.
func TestRanks(t *testing.T) {
	all := launchers(t)
	data := photos(t, 12)
	for i, family := range [][]string{
		{"loss.name=margin", "mine.positives=easy", "mine.negatives=distance", "loss.memory=40"},
		{"loss.name=proxynca"},
		{"loss.name=supcon", "sample.views=2", "data.augment=light"},
	} {
		args := setting(data, family...)
		want := filepath.Join(t.TempDir(), "alone")
		alone(t, args, want)
		for _, l := range all {
			for ranks := 1; ranks <= 4; ranks++ {
				if testing.Short() && ranks != 2+i%2 {
					continue
				}
				what := fmt.Sprintf("%s, %d processes, %s", l.name, ranks, family[0])
				got := filepath.Join(t.TempDir(), "run")
				if out, err := l.run(t, ranks, append(args, "--out", got)...); err != nil {
					t.Fatalf("%s: %v\n%s", what, err, out)
				}
				same(t, what, want, got)
			}
		}
	}
}

// TestKilled kills a process of several at a moment of its own, resumes with another number of
// processes, again and again, and expects the folder of a run that nobody touched. With
// KINDRED_LONG it does so 50 times.
func TestKilled(t *testing.T) {
	kills := 2
	if os.Getenv("KINDRED_LONG") != "" {
		kills = 50
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, l := range launchers(t) {
		args := setting(photos(t, 12), "loss.name=margin", "train.epochs=6")
		want := filepath.Join(t.TempDir(), "alone")
		alone(t, args, want)
		dir := filepath.Join(t.TempDir(), "run")
		killed := 0
		for killed < kills {
			now := append(args, "--out", dir)
			if _, err := os.Stat(filepath.Join(dir, "checkpoint", "last.safetensors")); err == nil {
				now = []string{"train", "--resume", dir}
			} else if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			ranks := 2 + rng.IntN(3)
			cmd, out := l.start(t, ranks, now...)
			time.Sleep(time.Duration(300+rng.IntN(1500)) * time.Millisecond)
			if pid := child(t, cmd.Process.Pid, rng); pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if err == nil { // it had finished
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: the others go on without the one that was killed\n%s", l.name, out)
			}
			killed++
		}
		now := append(args, "--out", dir)
		if _, err := os.Stat(filepath.Join(dir, "checkpoint", "last.safetensors")); err == nil {
			now = []string{"train", "--resume", dir}
		} else if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if out, err := l.run(t, 3, now...); err != nil {
			t.Fatalf("%s: %v\n%s", l.name, err, out)
		}
		same(t, l.name+", killed and resumed", want, dir)
	}
}

// child is one of the processes below pid that are kindred-mpi, 0 if there is none (yet).
func child(t *testing.T, pid int, rng *rand.Rand) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ps", "-eo", "pid=,ppid=,args=").Output()
	if err != nil {
		t.Skip("no ps")
	}
	parent, is := map[int]int{}, []int{}
	for line := range strings.Lines(string(out)) {
		var p, pp int
		var name string
		if n, _ := fmt.Sscan(line, &p, &pp, &name); n == 3 {
			parent[p] = pp
			if name == self {
				is = append(is, p)
			}
		}
	}
	var below []int
	for _, p := range is {
		for at := p; at > 1; at = parent[at] {
			if parent[at] == pid {
				below = append(below, p)
				break
			}
		}
	}
	if len(below) == 0 {
		return 0
	}
	return below[rng.IntN(len(below))]
}

// TestMistakes checks that what cannot be trained together ends all processes with one line that
// says why.
func TestMistakes(t *testing.T) {
	for _, l := range launchers(t) {
		data := photos(t, 6)
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"no pieces":      {setting(data, "train.chunk=0"), "train.chunk is not set: ranks share a batch"},
			"too few pieces": {setting(data, "train.chunk=16"), "too few for 2 ranks: set it to 6 or less"},
			"no data":        {setting(filepath.Join(data, "nowhere")), "nowhere"},
			"no run": {[]string{"train", "--resume", filepath.Join(data, "none")},
				"no such file or folder: give the folder of a run"},
			"an unknown key":  {setting(data, "train.chunks=2"), "unknown key \"train.chunks\""},
			"an unknown flag": {append(setting(data), "--nonsense"), "unknown flag: --nonsense"},
		} {
			dir := filepath.Join(t.TempDir(), "run")
			args := c.args
			if args[1] != "--resume" {
				args = append(args, "--out", dir)
			}
			out, err := l.run(t, 2, args...)
			if err == nil || strings.Count(out, c.want) != 1 {
				t.Errorf("%s, %s: %v\n%s\nwant once: %s", l.name, name, err, out, c.want)
			}
		}
	}
}
