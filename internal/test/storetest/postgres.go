package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Postgres is a PostgreSQL 17 with pgvector.
type Postgres struct {
	t         *testing.T
	root, dir string // dir is below root
	port      int
	cmd       *exec.Cmd
}

// programs is the folder of PostgreSQL's programs in Debian.
const programs = "/usr/lib/postgresql/17/bin/"

// StartTrixie starts, with chroot, the PostgreSQL of the Debian in the folder $KINDRED_TRIXIE.
// debootstrap --variant=minbase --include=postgresql-17-pgvector trixie FOLDER makes such a
// folder. The server listens on the loopback interface and ends with the test.
func StartTrixie(t *testing.T) *Postgres {
	t.Helper()
	root := os.Getenv("KINDRED_TRIXIE")
	if root == "" || os.Getuid() != 0 {
		t.Skip("KINDRED_TRIXIE, a folder with Debian 13 and its postgresql-17-pgvector, is not set, or this is not " +
			"root, who may chroot")
	}
	p := &Postgres{t: t, root: root, dir: fmt.Sprintf("/tmp/kindred-%d-%d", os.Getpid(), rand.IntN(1e6)),
		port: freePorts(t, 1)}
	t.Cleanup(func() {
		p.Kill()
		os.RemoveAll(filepath.Join(root, p.dir))
	})
	out, err := p.command("initdb", "-D", p.dir, "-A", "trust", "-U", "postgres", "--locale=C.UTF-8").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.Start()
	return p
}

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	return exec.Command("chroot", append([]string{"--userspec=postgres:postgres", p.root, programs + name}, args...)...)
}

// Start starts the server, also again after a Kill, with the data on its disk.
func (p *Postgres) Start() {
	p.t.Helper()
	os.Remove(filepath.Join(p.root, p.dir, "postmaster.pid")) // left by a server that was killed
	p.cmd = p.command("postgres", "-D", p.dir, "-p", fmt.Sprint(p.port), "-c", "listen_addresses=127.0.0.1", "-c",
		"unix_socket_directories=", "-c", "dynamic_shared_memory_type=mmap", "-c", "maintenance_work_mem=256MB")
	var log strings.Builder
	p.cmd.Stderr = &log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if p.command("pg_isready", "-h", "127.0.0.1", "-p", fmt.Sprint(p.port)).Run() == nil {
			return
		}
	}
	p.t.Fatal("PostgreSQL does not start: ", log.String())
}

// Kill ends the server as a loss of power would. Its other processes then end by themselves.
func (p *Postgres) Kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.cmd = nil
	time.Sleep(time.Second)
}

// PID returns the process whose children answer.
func (p *Postgres) PID() int { return p.cmd.Process.Pid }

// URL returns the address of the database.
func (p *Postgres) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}
