//go:build unix

package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/remote/weights"
)

// TestErrorsNameFlags: where the library names an option, a command names its flag, whatever wraps the error on the
// way. The tests of package cli check that every option is here.
func TestErrorsNameFlags(t *testing.T) {
	makeFeatureSet(t)
	runProgram(t, shortRun+"--out done")
	runProgram(t, shortRun+"--out edited --set train.epochs=1")
	replaceInFile(t, filepath.Join("edited", "config.yaml"), "batches: 4", "batches: 5")
	runProgram(t, shortRun+"--out broken")
	if err := os.Remove(filepath.Join("broken", "model.json")); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join("mine", "notes.txt"), nil)
	writePatternFolder(t, "photos", 0, 3, 4)
	writeBytes(t, filepath.Join("photos", "thing 0", "cut.png"), []byte("\x89PNG\r\n\x1a\n"))
	writeBytes(t, filepath.Join("set", "outside.csv"), []byte("path,label\n../photos/thing 0/0.png,a\n"))
	writeBytes(t, "partly.csv", []byte("path,label\nphotos/thing 0/0.png,a\nphotos/thing 1/0.png,\n"))
	writeBytes(t, "plan.yaml",
		[]byte("set: {data.path: features.npy, network.name: linear, network.dim: 3, sample.batches: "+
			"2, train.epochs: 1, eval.recall: [1]}\nranges: {train.lr: [0.1, 0.01]}\ntrials: 2\nfolds: 2\nseeds: 0\n"))
	runProgram(t, "sweep plan.yaml --out swept")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "KINDRED_DATA", "KINDRED_WEIGHTS"} {
		t.Setenv(name, "")
	}
	at := func(option, line, want string) {
		t.Helper()
		code, _, stderr := runArgs(t, strings.Fields(line)...)
		if code == exitOK || !strings.Contains(stderr, want) ||
			strings.Contains(strings.ReplaceAll(stderr, "(data.strict: true)", ""), option) {
			t.Errorf("%s: %s: status %d, %q, want %q", option, line, code, stderr, want)
		}
	}
	at("data.OpenOptions.Home", "data list", "; set --data-dir or $KINDRED_DATA\n")
	at("data.OpenOptions.Outside", "embed done set/outside.csv --out E.npy",
		"outside.csv:2: ../photos/thing 0/0.png leads outside the data set's folder set: --allow-outside "+
			"(data.outside: true) permits that\n")
	at("data.OpenOptions.Strict", "train --data partly.csv --out r --strict", "they are left out without --strict "+
		"(data.strict: true)\n")
	at("data.path", "train --out r", "no data set: give --data, or data.name in the configuration\n")
	at("data.strict", "train --data photos --out r --strict --set network.name=mlp --set network.width=8",
		"\n--strict (data.strict: true) ends the run here; without it")
	at("weights.Home", "search photos --in photos", "no network to compare the photos: give --run or --network; no "+
		"folder for weights: ")
	at("weights.Home", "search photos --in photos", "; set --weights-dir or $KINDRED_WEIGHTS\n--network model.onnx is")
	at("weights.Home", "doctor", "; set --weights-dir or $KINDRED_WEIGHTS")
	e, err := weights.Find("mobilenet_v3_small")
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, e.Path("weights"), make([]byte, e.Bytes))
	at("run.Options.Encoders", "train photos --out tried --try-encoders --weights-dir weights --set network.name=conv4",
		"--try-encoders: network.name is conv4")
	at("run.Options.Dir", shortRun+"--out mine", "it holds notes.txt; choose another folder with --out\n")
	at("run.Options.Resume", shortRun+"--out done", "continue it with --resume done, replace it")
	at("run.Train with Options.Resume", "embed broken features.npy --out E.npy",
		"continue it by kindred train --resume broken, or")
	at("run.Train with Options.Finish", "embed broken features.npy --out E.npy", "by kindred train --finish broken\n")
	at("run.Options.Force", shortRun+"--out done", "replace it with --force, or choose another folder with --out\n")
	at("override", shortRun+"--out r --set train.lr=much", "--set train.lr=much: train.lr: ")
	at("overrides", "train --resume edited", "restore it, or give changes by --set\n")
	replaceInFile(t, "labels.csv", "a,test", "b,test")
	replaceInFile(t, "plan.yaml", "trials: 2", "trials: 3")
	at("sweep.Options.Dir", "sweep plan.yaml --out swept", "or choose another folder with --out\n")
	at("runs.View.Names", "report done --out named --name x=y", "--name \"x=y\": want RUN=NAME")
	const info = `INFO {"server_id":"a","version":"2.10.0","max_payload":1048576,`
	embed := "embed done features.npy --out E.npy --queue "
	closed := embed + startQueueServer(t, info+`"auth_required":true}`, "-ERR 'Authorization Violation'")
	at("queue.Options.Credentials", closed, "or a file of credentials by --queue-creds\n")
	private := embed + startQueueServer(t, info+`"tls_required":true}`, "")
	at("queue.Options.CA", private, "; give the servers' certificates by --queue-ca, and your own")
	at("queue.Options.Cert", private, "and your own by --queue-cert and ")
	at("queue.Options.Key", private, " and --queue-key if they ask for it\n")
}

// replaceInFile replaces a text in a file, everywhere.
func replaceInFile(t *testing.T, path, was, now string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), was) {
		t.Fatalf("%s: %v, without %q", path, err, was)
	}
	writeBytes(t, path, []byte(strings.ReplaceAll(string(text), was, now)))
}

// startQueueServer is the address of a server that greets like those of a queue, and has one answer.
func startQueueServer(t *testing.T, greeting, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte(greeting + "\r\n"))
			bufio.NewReader(c).ReadByte() // the client's turn
			c.Write([]byte(answer + "\r\n"))
			c.Close()
		}
	}()
	return "nats://" + l.Addr().String()
}
