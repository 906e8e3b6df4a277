package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Peer is a program that times the same cases in another toolkit.
//
//   - `script --tune` prints one JSON object: the environment in which it is fastest,
//     and a Setting.
//   - `script --serve case` prepares the case and prints {"tool": ..., "variants":
//     [...]}, the toolkit that does it and the names of the ways in which it can. It
//     then prints {"ms": ...} for each line "turn VARIANT" that it reads, and ends
//     with its input. It exits with status 3 if it does not have the case.
//   - `script --serve case folder` is called if the setting has "models". The folder
//     holds the case's network, model.onnx, and its images, images.f32: float32 as
//     the model takes them. Before it is ready the peer writes what comes out of the
//     model to embeddings.f32. Cases without a network it does not have.
type Peer struct {
	// Python is the interpreter of Script. If it is empty, Script is run itself.
	Python, Script string
	// Setting is the result of Tune.
	Setting Setting
}

// command returns the call of the peer with the given arguments.
func (p *Peer) command(ctx context.Context, args ...string) *exec.Cmd {
	program := p.Script
	if p.Python != "" {
		program, args = p.Python, append([]string{p.Script}, args...)
	}
	return exec.CommandContext(ctx, program, args...)
}

// Setting is the configuration with which a peer runs.
type Setting struct {
	Env      map[string]string `json:"env"`
	Versions map[string]string `json:"versions"`
	Missing  map[string]string `json:"missing,omitempty"` // toolkits that it lacks, and why
	Models   bool              `json:"models,omitempty"`  // it reads the network of a case
	Threads  int               `json:"threads"`
	// Kernels are the instructions that the peer's own kernels use, BLAS the library that its
	// products come from, CoreType the kernels of that; each empty if it is unknown.
	Kernels   string     `json:"kernels,omitempty"`
	BLAS      string     `json:"blas,omitempty"`
	CoreType  string     `json:"core_type,omitempty"`
	CoreTypes []CoreType `json:"core_types,omitempty"` // all core types that were tried
}

// CoreType is the rate of OpenBLAS's products with one set of its kernels.
type CoreType struct {
	Name     string  `json:"core_type"`
	GFLOPS   float64 `json:"gflops"`
	OwnGuess bool    `json:"own_guess,omitempty"` // OpenBLAS chooses this one by itself
}

// noPeerCase is the exit status of a script that does not have a case.
const noPeerCase = 3

// Tune asks the peer for the setting in which it is fastest.
func (p *Peer) Tune(ctx context.Context) error {
	cmd := p.command(ctx, "--tune")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return cmp.Or(ctx.Err(), p.newError("--tune", err, stderr.String()))
	}
	if err := json.Unmarshal(out, &p.Setting); err != nil {
		return fmt.Errorf("peer %s --tune: %w in what it printed: %.200s", p.Script, err, out)
	}
	return nil
}

func (p *Peer) newError(what string, err error, stderr string) error {
	return fmt.Errorf("peer %s %s: %w\n%s", p.Script, what, err, lastLine(stderr))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// session is a peer that times one case. The zero value times nothing.
type session struct {
	peer      *Peer
	name      string
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Scanner
	stderr    bytes.Buffer
	folder    string  // the case's network and images; "" if the peer does not read them
	tolerance float64 // of what the peer makes of them
	tool      string
	variants  []string
	turns     [][]float64 // times of each variant
}

// start lets the peer prepare a case. The session times nothing if the peer does not have it.
func (p *Peer) start(ctx context.Context, c Case) (*session, error) {
	s := &session{peer: p, name: c.Name}
	args := []string{"--serve", c.Name}
	if p.Setting.Models {
		if c.Network == nil {
			return new(session), nil
		}
		var err error
		if s.folder, err = writeNetwork(c); err != nil {
			return nil, err
		}
		s.tolerance = floatTolerance
		if net, _, _ := c.Network(); net.Quantization() != nil {
			s.tolerance = tolerance8Bit
		}
		args = append(args, s.folder)
	}
	if err := s.begin(ctx, args); err != nil {
		s.close()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == noPeerCase {
			return new(session), nil
		}
		return nil, err
	}
	return s, nil
}

// begin starts the peer's process, and returns when it has prepared the case.
func (s *session) begin(ctx context.Context, args []string) error {
	cmd := s.peer.command(ctx, args...)
	cmd.Env = os.Environ()
	for k, v := range s.peer.Setting.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stderr = &s.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.in, s.out = in, bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		return s.peer.newError(s.name, err, "")
	}
	s.cmd = cmd
	var ready struct {
		Tool     string   `json:"tool"`
		Variants []string `json:"variants"`
	}
	if err := s.read(&ready); err != nil {
		return err
	}
	s.tool = s.peer.Setting.tool(ready.Tool)
	s.variants, s.turns = ready.Variants, make([][]float64, len(ready.Variants))
	if s.folder == "" {
		return nil
	}
	if err := checkOutput(s.folder, s.tolerance); err != nil {
		return fmt.Errorf("peer %s %s: %w", s.peer.Script, s.name, err)
	}
	return nil
}

// tool returns the name of a toolkit with the first two numbers of its version.
func (p *Setting) tool(name string) string {
	version := strings.SplitN(p.Versions[name], ".", 3)
	return strings.TrimSpace(name + " " + strings.Join(version[:min(2, len(version))], "."))
}

// read reads the peer's next line, or returns the reason why it did not come.
func (s *session) read(v any) error {
	if s.out.Scan() {
		if err := json.Unmarshal(s.out.Bytes(), v); err != nil {
			s.close()
			return fmt.Errorf("peer %s %s: %w in what it printed: %.200s", s.peer.Script, s.name, err, s.out.Bytes())
		}
		return nil
	}
	s.in.Close()
	err := s.cmd.Wait()
	if err == nil {
		err = errors.New("the script ended before it printed a time")
	}
	s.cmd = nil
	return s.peer.newError(s.name, err, s.stderr.String())
}

// turnPause is the pause after a peer's turn: the idle threads of OpenBLAS and OpenMP spin for a
// while before they sleep.
const turnPause = 50 * time.Millisecond

// runTurn lets every variant take a turn.
func (s *session) runTurn() error {
	for i, v := range s.variants {
		var got struct {
			MS float64 `json:"ms"`
		}
		// If the peer has ended, the next read returns the reason.
		_, _ = fmt.Fprintf(s.in, "turn %s\n", v)
		if err := s.read(&got); err != nil {
			return err
		}
		if !(got.MS > 0) {
			return fmt.Errorf("peer %s %s: a turn took %v ms: must be above 0", s.peer.Script, v, got.MS)
		}
		s.turns[i] = append(s.turns[i], got.MS)
		time.Sleep(turnPause)
	}
	return nil
}

// times returns the times of every variant.
func (s *session) times() []PeerTimes {
	all := make([]PeerTimes, len(s.variants))
	for i, v := range s.variants {
		all[i] = PeerTimes{s.tool, v, summarizeTurns(s.turns[i])}
	}
	return all
}

// close ends the peer's process, and removes what was written for it.
func (s *session) close() {
	if s.cmd != nil {
		s.in.Close()
		_ = s.cmd.Wait() // all figures were read, so an error does not matter
		s.cmd = nil
	}
	if s.folder != "" {
		_ = os.RemoveAll(s.folder) // a temporary folder
		s.folder = ""
	}
}
