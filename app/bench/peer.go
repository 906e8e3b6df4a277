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

// Peer is a script that times the same cases in another toolkit.
//
//   - `python script --tune` prints one JSON object: the environment in which it
//     is fastest, and a Setting.
//   - `python script --serve case` prepares the case and prints {"variants":
//     [...]}, the names of the ways in which it can do it. It then prints {"ms":
//     ...} for each line "turn VARIANT" that it reads, and ends with its input.
//     It exits with status 3 if it does not have the case.
type Peer struct {
	Python, Script string
	// Setting is the result of Tune.
	Setting Setting
}

// Setting is the configuration with which a peer runs.
type Setting struct {
	Env       map[string]string `json:"env"`
	Versions  map[string]string `json:"versions"`
	BLAS      string            `json:"blas"`
	CoreType  string            `json:"core_type"`
	Threads   int               `json:"threads"`
	CoreTypes []CoreType        `json:"core_types,omitempty"` // all core types that were tried
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
	cmd := exec.CommandContext(ctx, p.Python, p.Script, "--tune")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return cmp.Or(ctx.Err(), p.failed("--tune", err, stderr.String()))
	}
	if err := json.Unmarshal(out, &p.Setting); err != nil {
		return fmt.Errorf("peer %s --tune: %w in what it printed: %.200s", p.Script, err, out)
	}
	return nil
}

func (p *Peer) failed(what string, err error, stderr string) error {
	return fmt.Errorf("peer %s %s %s: %w\n%s", p.Python, p.Script, what, err, lastLine(stderr))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// session is a peer that times one case. The zero value times nothing.
type session struct {
	peer     *Peer
	name     string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
	stderr   bytes.Buffer
	variants []string
	turns    [][]float64 // times of each variant
}

func (p *Peer) start(ctx context.Context, name string) (*session, error) {
	s := &session{peer: p, name: name}
	s.cmd = exec.CommandContext(ctx, p.Python, p.Script, "--serve", name)
	s.cmd.Env = os.Environ()
	for k, v := range p.Setting.Env {
		s.cmd.Env = append(s.cmd.Env, k+"="+v)
	}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		return nil, p.failed(name, err, "")
	}
	var ready struct {
		Variants []string `json:"variants"`
	}
	if err := s.read(&ready); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == noPeerCase {
			return new(session), nil
		}
		return nil, err
	}
	s.variants, s.turns = ready.Variants, make([][]float64, len(ready.Variants))
	return s, nil
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
	return s.peer.failed(s.name, err, s.stderr.String())
}

// turn lets every variant take a turn.
func (s *session) turn() error {
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
	}
	return nil
}

// rest is the pause after a peer's turn: the idle threads of OpenBLAS and OpenMP spin
// for a while before they sleep.
func (s *session) rest() time.Duration {
	if s.cmd == nil {
		return 0
	}
	return 50 * time.Millisecond
}

// all returns the times of every variant.
func (s *session) all() []PeerTimes {
	var all []PeerTimes
	for i, v := range s.variants {
		all = append(all, PeerTimes{v, timesOf(s.turns[i])})
	}
	return all
}

// best returns the variant with the least median, or nil without variants.
func (s *session) best() *PeerTimes {
	var best *PeerTimes
	for _, t := range s.all() {
		if best == nil || t.MedianMS < best.MedianMS {
			best = &t
		}
	}
	return best
}

// close ends the peer's process.
func (s *session) close() {
	if s.cmd == nil {
		return
	}
	s.in.Close()
	_ = s.cmd.Wait() // all figures were read, so an error does not matter
	s.cmd = nil
}
