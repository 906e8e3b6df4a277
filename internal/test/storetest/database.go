package storetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// script serves PostgreSQL with pgvector, compiled to WebAssembly, on a free port. It takes
// one connection at a time.
const script = `
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
const db = await PGlite.create({ extensions: { vector } })
const port = Number(process.env.PORT)
const server = new PGLiteSocketServer({ db, port, host: '127.0.0.1' })
await server.start()
console.log('ready')
process.stdin.on('data', () => { // somebody asks to be told when nobody is connected
  const wait = setInterval(() => {
    if (server.getStats().activeConnections > 0) return
    clearInterval(wait)
    console.log('alone')
  }, 10)
})
`

// StartDatabase returns the address of a PostgreSQL with pgvector. It is $KINDRED_PGVECTOR, else
// the address of Trixie if $KINDRED_TRIXIE is set. Else node runs the database for the test;
// the folder $KINDRED_PGLITE must have the npm packages @electric-sql/pglite, pglite-pgvector
// and pglite-socket. That database takes one connection at a time: alone waits until it has
// noticed that the previous connection was closed.
func StartDatabase(t *testing.T) (url string, alone func()) {
	t.Helper()
	if url := os.Getenv("KINDRED_PGVECTOR"); url != "" {
		return url, func() {}
	}
	if os.Getenv("KINDRED_TRIXIE") != "" {
		return StartTrixie(t).URL(), func() {}
	}
	modules := os.Getenv("KINDRED_PGLITE")
	if modules == "" {
		t.Skip("neither KINDRED_PGVECTOR, the address of a PostgreSQL with pgvector, nor KINDRED_PGLITE, " +
			"a folder with the npm packages @electric-sql/pglite, pglite-pgvector and pglite-socket, is set")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: ", err)
	}
	main := filepath.Join(modules, fmt.Sprintf("kindred-%d.mjs", os.Getpid()))
	if err := os.WriteFile(main, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(main) })
	var why error
	for range 3 { // another program may have taken the port meanwhile
		var port string
		if port, alone, why = startScript(t, node, main); why == nil {
			// All connections share one session and its statements, and the socket fails in a COPY.
			return "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable&pool_max_conns=1&" +
				"default_query_exec_mode=cache_describe&kindred_copy=off", alone
		}
	}
	t.Fatal("the database does not start: ", why)
	return "", nil
}

// startScript runs the script on a free port until the test ends. It returns the port, and a
// function that waits until no connection is open.
func startScript(t *testing.T, node, main string) (port string, alone func(), err error) {
	port = strconv.Itoa(freePorts(t, 1))
	var said bytes.Buffer
	cmd := exec.Command(node, main)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Dir(main), append(os.Environ(), "PORT="+port), &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		cmd.Wait()
		return "", nil, fmt.Errorf("%q, %v: %s", line, err, said.String())
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return port, func() {
		t.Helper()
		if _, err := fmt.Fprintln(in, "alone"); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "alone\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}, nil
}
