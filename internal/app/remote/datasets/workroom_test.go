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
		set := tiny()
		set.Bases = []string{os.Getenv(childHome + "_URL")}
		g := Getter{Home: home, Sets: []Set{set}, Installed: home, Progress: func(string) { fmt.Println("at work") }}
		_, err := g.Get(context.Background(), "tiny")
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
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
	slow := mirror(t, func(w http.ResponseWriter, _ string) {
		w.Write([]byte{1})
		w.(http.Flusher).Flush()
		began <- struct{}{}
		<-hang
	})
	t.Cleanup(func() { close(hang) })
	good := mirror(t, func(w http.ResponseWriter, name string) { w.Write(gz(content()[name])) })
	set := tiny()
	set.Bases = []string{good}
	g := getter(t, set)
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
	if err := g.sweep(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, g.Home); len(left) != 2 {
		t.Errorf("while it downloads: %v", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if left := names(t, g.Home); len(left) != 2 {
		t.Errorf("it left %v: the test shows nothing", left)
	}
	if _, err := g.Get(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	if left := names(t, g.Home); len(left) != 1 || left[0] != "tiny" {
		t.Errorf("left %v", left)
	}
	// Others' files stay.
	other := filepath.Join(g.Home, workroomPrefix+"1")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := g.sweep(); err != nil || len(names(t, g.Home)) != 2 {
		t.Errorf("left %v, %v", names(t, g.Home), err)
	}
}
