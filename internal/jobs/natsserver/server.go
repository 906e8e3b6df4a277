// Package natsserver runs the NATS server of a queue in this process, for those who
// have no cluster: the queue is a folder, and who works on it on this machine finds
// the server through a file there.
//
//	s, err := Serve("queue")        // here
//	defer s.Close()
//	url, err := URL("queue")        // there, for queue.Options.URL
//
// One process serves a folder at a time; when it ends, or is killed, what the folder
// holds is served by the next one. The server listens on the loopback interface
// alone and lets in who can read the folder's file.
package natsserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// addressFile holds where the server of a folder listens, and what opens it.
const addressFile = "server.json"

// startTimeout is how long a server may take to start, and to read what it holds.
const startTimeout = 60 * time.Second

type address struct {
	Port  int    `json:"port"`
	Token string `json:"token"`
}

// Server is the server of a queue's folder.
type Server struct {
	held *lock.Held
	ns   *server.Server
	url  string
	// Repaired says what was damaged in the folder and is left out.
	Repaired []string
}

// Serve starts the server of a folder, which is made if need be. The error is a
// *lock.HeldError if another process serves it. The port is that of the last time,
// so that workers find the way back, or another one if that is in use.
func Serve(dir string) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	held, err := lock.Folder(dir)
	if err != nil {
		return nil, err
	}
	s, err := serve(dir)
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	s.held = held
	return s, nil
}

func serve(dir string) (*Server, error) {
	if err := atomic.Clean(dir); err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	mended, err := repair(dir)
	if err != nil {
		return nil, err
	}
	a, err := readAddress(dir)
	if errors.Is(err, fs.ErrNotExist) {
		a = address{server.RANDOM_PORT, rand.Text()}
	} else if err != nil {
		return nil, err
	}
	ns, err := run(dir, a)
	if err != nil && a.Port != server.RANDOM_PORT {
		a.Port = server.RANDOM_PORT
		ns, err = run(dir, a)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{ns: ns, Repaired: mended}
	u, err := url.Parse(ns.ClientURL())
	if err == nil {
		a.Port, err = strconv.Atoi(u.Port())
	}
	if err == nil {
		err = writeAddress(dir, a)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.url = a.url()
	return s, nil
}

// checkFolder refuses folders with other things in them.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case lock.FileName, addressFile, server.JetStreamStoreDir:
		default:
			return fmt.Errorf("%s is neither empty nor the folder of a queue, as it has %s: choose another folder", dir,
				e.Name())
		}
	}
	return nil
}

// run starts a server and waits until it lets clients in.
func run(dir string, a address) (*server.Server, error) {
	ns, err := server.NewServer(&server.Options{ServerName: "kindred", Host: "127.0.0.1", Port: a.Port,
		Authorization: a.Token, JetStream: true, StoreDir: dir, NoSigs: true})
	if err != nil {
		return nil, fmt.Errorf("the queue's server: %w", err)
	}
	said := &serverLog{}
	ns.SetLoggerV2(said, false, false, false)
	ns.Start()
	if !ns.ReadyForConnections(startTimeout) || !ns.JetStreamEnabled() {
		ns.Shutdown()
		return nil, fmt.Errorf("the queue's server in %s did not start: %s", dir, said.last())
	}
	return ns, nil
}

// URL returns how clients on this machine reach the server of a folder, whether it
// runs or not. The error wraps fs.ErrNotExist if it never has.
func URL(dir string) (string, error) {
	a, err := readAddress(dir)
	return a.url(), err
}

func (a address) url() string { return fmt.Sprintf("nats://%s@127.0.0.1:%d", a.Token, a.Port) }

func readAddress(dir string) (address, error) {
	path := filepath.Join(dir, addressFile)
	text, err := fileinfo.ReadFile(path)
	if err != nil {
		return address{}, err
	}
	var a address
	if err := json.Unmarshal(text, &a); err != nil || a.Port < 1 || a.Port > 65535 || a.Token == "" ||
		strings.Trim(a.Token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return address{}, fmt.Errorf("%s is damaged: remove it", path)
	}
	return a, nil
}

func writeAddress(dir string, a address) error {
	path := filepath.Join(dir, addressFile)
	err := atomic.WriteFile(path, func(w io.Writer) error {
		if f, ok := w.(*os.File); ok { // the token is nobody else's
			if err := f.Chmod(0o600); err != nil {
				return err
			}
		}
		return json.NewEncoder(w).Encode(a)
	})
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

// URL is how clients on this machine reach the server.
func (s *Server) URL() string { return s.url }

// Close ends the server; what it holds is in the folder.
func (s *Server) Close() error {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	if s.held == nil {
		return nil
	}
	return s.held.Release()
}

// serverLog keeps what a server says last of what it could not do.
type serverLog struct {
	mu   sync.Mutex
	line string
}

func (c *serverLog) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line == "" {
		return "without a reason"
	}
	return c.line
}

func (c *serverLog) note(format string, v []any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = fmt.Sprintf(format, v...)
}

func (c *serverLog) Errorf(format string, v ...any) { c.note(format, v) }
func (c *serverLog) Fatalf(format string, v ...any) { c.note(format, v) }
func (c *serverLog) Noticef(string, ...any)         {}
func (c *serverLog) Warnf(string, ...any)           {}
func (c *serverLog) Debugf(string, ...any)          {}
func (c *serverLog) Tracef(string, ...any)          {}
