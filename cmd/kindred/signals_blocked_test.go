//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/app/cli/signals"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	imagebombs "github.com/kindred-ml/kindred/internal/test/bombs"
)

// startStallingServer accepts connections and, for each, reads a request and writes what drip says, without
// end. It returns its address, and a channel that is told of each request.
func startStallingServer(t *testing.T, drip string) (address string, asked chan struct{}) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() { ln.Close(); close(over) })
	asked = make(chan struct{}, 100)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				n, _ := c.Read(b)
				head := "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nAccept-Ranges: bytes\r\n\r\n"
				if strings.HasPrefix(string(b[:n]), "HEAD ") {
					io.WriteString(c, head)
					return
				}
				asked <- struct{}{}
				if drip != "" {
					io.WriteString(c, head)
				}
				for {
					select {
					case <-over:
						return
					case <-time.After(50 * time.Millisecond):
						if _, err := io.WriteString(c, drip); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return ln.Addr().String(), asked
}

// waitingCommand is a command that waits for something that does not come.
type waitingCommand struct {
	args  string // OUT stands for a folder of its own
	env   []string
	ready func() error // returns when the command waits
	// stdout and stderr are in the place of pipes that are read.
	stdout, stderr *os.File
}

// waitForRequest waits for a request.
func waitForRequest(asked chan struct{}) func() error {
	return func() error {
		select {
		case <-asked:
			return nil
		case <-time.After(30 * time.Second):
			return fmt.Errorf("nothing was asked for")
		}
	}
}

// waitingCommands list what commands wait for, each with an own folder.
var waitingCommands = map[string]func(t *testing.T, dir string) waitingCommand{
	"a data set that drips": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "x")
		return waitingCommand{args: "data info http://" + address + "/set.csv", ready: waitForRequest(asked)}
	},
	"a data set that stalls": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "")
		return waitingCommand{args: "train --out OUT/run --data http://" + address + "/set.csv",
			ready: waitForRequest(asked)}
	},
	"an archive that stalls": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "")
		return waitingCommand{args: "data info http://" + address + "/set.zip", ready: waitForRequest(asked)}
	},
	"an object store that stalls": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "")
		return waitingCommand{args: "data info s3://bucket/photos/", env: []string{"AWS_ENDPOINT_URL=http://" + address,
			"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_REGION=us-east-1"}, ready: waitForRequest(asked)}
	},
	"a database that does not answer": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "")
		return waitingCommand{args: "serve --listen 127.0.0.1:0 --store postgres://u@" + address + "/d#photos",
			ready: waitForRequest(asked)}
	},
	"a vector database that does not answer": func(t *testing.T, _ string) waitingCommand {
		address, asked := startStallingServer(t, "")
		return waitingCommand{args: "serve --listen 127.0.0.1:0 --store weaviate://" + address + "#photos",
			ready: waitForRequest(asked)}
	},
	"a server of decoders that drips": func(t *testing.T, dir string) waitingCommand {
		address, asked := startStallingServer(t, "x")
		return waitingCommand{args: "formats get heic --from http://" + address + "/heif.wasm.gz",
			env: []string{"KINDRED_DECODERS=" + dir}, ready: waitForRequest(asked)}
	},
	"a queue that does not answer": func(t *testing.T, _ string) waitingCommand {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan struct{}, 1)
		t.Cleanup(func() { ln.Close() })
		go func() {
			c, err := ln.Accept()
			if err == nil {
				t.Cleanup(func() { c.Close() })
				asked <- struct{}{}
			}
		}()
		return waitingCommand{args: "worker --queue nats://" + ln.Addr().String(), ready: waitForRequest(asked)}
	},
	"a queue that has ended": func(t *testing.T, dir string) waitingCommand {
		s, err := natsserver.Serve(filepath.Join(dir, "queue"))
		if err != nil {
			t.Fatal(err)
		}
		return waitingCommand{args: "worker --queue " + s.URL(), ready: func() error {
			time.Sleep(2 * time.Second) // it connects
			return s.Close()
		}}
	},
	"standard input": func(t *testing.T, _ string) waitingCommand {
		return waitingCommand{args: "embed --network " + onnxFile(t) + " - --out OUT/e.npy"}
	},
	"results that nobody reads": func(t *testing.T, _ string) waitingCommand {
		return waitingCommand{args: "formats", stdout: newFullPipe(t)}
	},
	"remarks that nobody reads": func(t *testing.T, _ string) waitingCommand {
		return waitingCommand{args: "wait", stderr: newFullPipe(t)}
	},
	"the decoder of a picture": func(t *testing.T, dir string) waitingCommand {
		for i := range 20 { // each takes ten seconds of a processor
			writeBytes(t, filepath.Join(dir, "photos", fmt.Sprint(i, ".jxl")), imagebombs.Picture("large/lines.jxl"))
		}
		return waitingCommand{args: "embed --network " + onnxFile(t) + " OUT/photos --out OUT/e.parquet"}
	},
	"a loop of a model": func(t *testing.T, dir string) waitingCommand {
		writeBytes(t, filepath.Join(dir, "loop.onnx"), newSlowModel(t))
		writeBytes(t, filepath.Join(dir, "photo.png"), imagebombs.Picture("formats/png-rgb.png"))
		return waitingCommand{args: "embed --network OUT/loop.onnx OUT/photo.png --out OUT/e.npy"}
	},
	"a pattern of a tokenizer": func(t *testing.T, dir string) waitingCommand {
		tower := copyTower(t)
		file := filepath.Join(tower, "tokenizer.json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const pattern = `[\\p{L}]+|`
		slow := bytes.Replace(text, []byte(pattern), []byte("a.*!|a|"+pattern), 1)
		if bytes.Equal(slow, text) {
			t.Fatalf("%s has no pattern %s", file, pattern)
		}
		writeBytes(t, file, slow)
		writeBytes(t, filepath.Join(dir, "photo.png"), imagebombs.Picture("formats/png-rgb.png"))
		var labels []string // each takes most of what a text may
		for i := range 50 {
			labels = append(labels, fmt.Sprint(strings.Repeat("a", 2000), i))
		}
		return waitingCommand{args: "identify OUT/photo.png --network " + saveImageTower(t, 12) + " --words " + tower +
			" --choices " + strings.Join(labels, ",")}
	},
}

// newFullPipe is the end of a pipe that takes no more bytes.
func newFullPipe(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for err == nil {
		_, err = w.Write(make([]byte, 1<<16))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return w
}

// newSlowModel is a model that multiplies large matrices for about ten seconds of two processors.
func newSlowModel(t *testing.T) []byte {
	const side, rounds = 512, 4000
	value := func(name string, shape ...onnx.Dim) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Float32, Shape: shape}
	}
	single := []onnx.Attr{{Name: "keepdims", Type: onnx.AttrInt}}
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs:  []onnx.Value{value("x", onnx.Dim{Name: "N"}, onnx.Dim{Size: 3}, onnx.Dim{Size: 8}, onnx.Dim{Size: 8})},
		Outputs: []onnx.Value{value("y", onnx.Dim{Name: "N"}, onnx.Dim{Size: 3})},
		Initializers: []onnx.Tensor{onnx.Floats("large", []int64{side, side}, make([]float32, side*side)),
			onnx.Ints("rounds", []int64{1}, []int64{rounds})},
		Nodes: []onnx.Node{
			{Op: "ReduceMean", Inputs: []string{"x"}, Outputs: []string{"mean"}, Attrs: single},
			{Op: "Add", Inputs: []string{"large", "mean"}, Outputs: []string{"begin"}},
			{Op: "Loop", Inputs: []string{"rounds", "", "begin"}, Outputs: []string{"end"},
				Attrs: []onnx.Attr{{Name: "body", Type: onnx.AttrGraph, Graph: &onnx.Graph{
					Nodes: []onnx.Node{{Op: "Identity", Inputs: []string{"on"}, Outputs: []string{"still on"}},
						{Op: "MatMul", Inputs: []string{"state", "large"}, Outputs: []string{"product"}}},
					Inputs:  []onnx.Value{{Name: "i"}, {Name: "on"}, {Name: "state"}},
					Outputs: []onnx.Value{{Name: "still on"}, {Name: "product"}}}}}},
			{Op: "ReduceMean", Inputs: []string{"end"}, Outputs: []string{"all"}, Attrs: single},
			{Op: "GlobalAveragePool", Inputs: []string{"x"}, Outputs: []string{"pooled"}},
			{Op: "Flatten", Inputs: []string{"pooled"}, Outputs: []string{"flat"}},
			{Op: "Add", Inputs: []string{"flat", "all"}, Outputs: []string{"y"}},
		}}}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stopCommand starts a command, sends it one signal where it waits, and returns how long it went on and its status.
func stopCommand(t *testing.T, p waitingCommand, dir string) (time.Duration, syscall.WaitStatus, string) {
	cmd := newChild(t, p.args)
	cmd.Env = append(cmd.Env, append([]string{childOut + "=" + dir, "HOME=" + dir}, p.env...)...)
	var said strings.Builder
	cmd.Stderr = &said
	if p.stdout != nil {
		cmd.Stdout = p.stdout
	}
	if p.stderr != nil {
		cmd.Stderr = p.stderr
	}
	cmd.WaitDelay = time.Second
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if p.ready != nil {
		if err := p.ready(); err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("%v: %s", err, said.String())
		}
	} else {
		time.Sleep(time.Second)
	}
	time.Sleep(100 * time.Millisecond)
	var ignored atomic.Bool
	late := time.AfterFunc(30*time.Second, func() { ignored.Store(true); cmd.Process.Kill() })
	defer late.Stop()
	at := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Logf("it had ended: %v", err)
	}
	err := cmd.Wait()
	took := time.Since(at)
	if _, exit := err.(*exec.ExitError); err != nil && !exit {
		t.Fatal(err)
	}
	return took, cmd.ProcessState.Sys().(syscall.WaitStatus), said.String()
}

// TestOneSignalEndsEveryCommand takes commands to places where they wait without end. One signal ends each, with its
// status, and leaves no file half written. With KINDRED_LONG=1 each is stopped 20 times, and must end within a second.
func TestOneSignalEndsEveryCommand(t *testing.T) {
	if len(stopSignals()) < 3 {
		t.Skip("whoever started the tests has ignored signals, which children inherit")
	}
	times, most := 1, 10*time.Second
	if os.Getenv("KINDRED_LONG") == "1" {
		times, most = 20, time.Second
	}
	for name, prepare := range waitingCommands {
		t.Run(name, func(t *testing.T) {
			ignored := 0
			var longest time.Duration
			for range times {
				dir := t.TempDir()
				p := prepare(t, dir)
				took, st, said := stopCommand(t, p, dir)
				longest = max(longest, took)
				if took > most {
					ignored++
				}
				if !st.Exited() || st.ExitStatus() != signals.ExitStatus+int(syscall.SIGINT) {
					t.Errorf("status %d, want 130: %s", cmp.Or(st.ExitStatus(), int(st.Signal())), said)
				}
				if files, _ := filepath.Glob(filepath.Join(dir, "heif.wasm")); len(files) > 0 {
					t.Errorf("%v is there, and incomplete", files)
				}
			}
			t.Logf("ignored %d of %d, the longest took %v", ignored, times, longest.Round(time.Millisecond))
			if ignored > 0 {
				t.Errorf("%d of %d signals took more than %v to end the command", ignored, times, most)
			}
		})
	}
}
