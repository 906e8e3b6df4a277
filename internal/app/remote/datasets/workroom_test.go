package datasets

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// childHome, if set, makes the test binary a process that begins a download into
// that data folder, says so and waits to be killed.
const childHome = "KINDRED_FETCH_TEST_HOME"

func TestMain(m *testing.M) {
	if home := os.Getenv(childHome); home != "" {
		set := tinySet()
		set.Bases = []string{os.Getenv(childHome + "_URL")}
		g := Getter{Home: home, Sets: []Set{set}, Installed: home, Progress: func(string) { fmt.Println("at work") }}
		_, err := g.Get(context.Background(), "tiny")
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// listNames lists a folder.
func listNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// What a killed download leaves is removed by the next one, and what a living one
// works in is not.
func TestKilledDownload(t *testing.T) {
	began, hang := make(chan struct{}, 10), make(chan struct{})
	slow := newMirror(t, func(w http.ResponseWriter, _ string) {
		w.Write([]byte{1})
		w.(http.Flusher).Flush()
		began <- struct{}{}
		<-hang
	})
	t.Cleanup(func() { close(hang) })
	good := newMirror(t, func(w http.ResponseWriter, name string) { w.Write(compress(newFiles()[name])) })
	set := tinySet()
	set.Bases = []string{good}
	g := newGetter(t, set)
	if err := os.MkdirAll(g.Home, 0o777); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childHome+"="+g.Home, childHome+"_URL="+slow)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	<-began
	if err := g.removeAbandoned(); err != nil {
		t.Fatal(err)
	}
	if left := listNames(t, g.Home); len(left) != 2 {
		t.Errorf("while it downloads: %v", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if left := listNames(t, g.Home); len(left) != 2 {
		t.Errorf("it left %v: the test shows nothing", left)
	}
	if _, err := g.Get(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	if left := listNames(t, g.Home); len(left) != 1 || left[0] != "tiny" {
		t.Errorf("left %v", left)
	}
	// Others' files stay.
	other := filepath.Join(g.Home, tempPrefix+"1")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := g.removeAbandoned(); err != nil || len(listNames(t, g.Home)) != 2 {
		t.Errorf("left %v, %v", listNames(t, g.Home), err)
	}
}
