package storetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Cluster is a cluster of Weaviate servers on this machine.
type Cluster struct {
	t     *testing.T
	bin   string
	dir   string
	nodes []node
}

type node struct {
	ports [6]int // ports: HTTP, gRPC, gossip, data, Raft, Raft's internal one
	cmd   *exec.Cmd
	log   *os.File
}

// StartWeaviate starts n machines of Weaviate by the program $KINDRED_WEAVIATE, which
// CGO_ENABLED=0 go install github.com/weaviate/weaviate/cmd/weaviate-server@v1.35.2 makes.
// They end with the test. They talk to each other and to clients of REST over the loopback
// interface; for gRPC and its data Weaviate listens on all interfaces.
func StartWeaviate(t *testing.T, n int) *Cluster {
	t.Helper()
	bin := os.Getenv("KINDRED_WEAVIATE")
	if bin == "" {
		t.Skip("KINDRED_WEAVIATE, the program weaviate-server, is not set")
	}
	c := &Cluster{t: t, bin: bin, dir: t.TempDir(), nodes: make([]node, n)}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.Kill(i)
		}
	})
	// The machines must know each other's ports beforehand. They are a range that was free
	// a moment ago, below the ports that the system gives to connections.
	row := freePorts(t, 6*n)
	for i := range c.nodes {
		for j := range c.nodes[i].ports {
			c.nodes[i].ports[j] = row + 6*i + j
		}
	}
	for i := range c.nodes {
		c.Start(i)
		if i == 0 { // the others join it
			time.Sleep(2 * time.Second)
		}
	}
	for i := range c.nodes {
		c.Ready(i)
	}
	return c
}

// freePorts returns the first of n consecutive free ports.
func freePorts(t *testing.T, n int) int {
	t.Helper()
next:
	for range 100 {
		first := 20_000 + rand.IntN(10_000)
		for port := first; port < first+n; port++ {
			ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				continue next
			}
			ln.Close()
		}
		return first
	}
	t.Fatal("no free ports")
	return 0
}

// Start starts machine i, also again after a Kill, with the data on its disk.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	m := &c.nodes[i]
	var raft, running []string
	for j, other := range c.nodes {
		if other.cmd != nil {
			running = append(running, fmt.Sprintf("127.0.0.1:%d", other.ports[2]))
		}
		raft = append(raft, fmt.Sprintf("node%d:%d", j, other.ports[4]))
	}
	log, err := os.Create(filepath.Join(c.dir, fmt.Sprintf("node%d.log", i)))
	if err != nil {
		c.t.Fatal(err)
	}
	m.log = log
	m.cmd = exec.Command(c.bin, "--scheme", "http", "--host", "127.0.0.1", "--port", fmt.Sprint(m.ports[0]))
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.Env = append(os.Environ(), "PERSISTENCE_DATA_PATH="+c.Dir(i),
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "DEFAULT_VECTORIZER_MODULE=none", "DISABLE_TELEMETRY=true",
		fmt.Sprintf("CLUSTER_HOSTNAME=node%d", i), "CLUSTER_IN_LOCALHOST=true", "CLUSTER_ADVERTISE_ADDR=127.0.0.1",
		"CLUSTER_BIND_ADDR=127.0.0.1",
		fmt.Sprintf("GRPC_PORT=%d", m.ports[1]), fmt.Sprintf("CLUSTER_GOSSIP_BIND_PORT=%d", m.ports[2]),
		fmt.Sprintf("CLUSTER_DATA_BIND_PORT=%d", m.ports[3]), fmt.Sprintf("RAFT_PORT=%d", m.ports[4]),
		fmt.Sprintf("RAFT_INTERNAL_RPC_PORT=%d", m.ports[5]), fmt.Sprintf("RAFT_BOOTSTRAP_EXPECT=%d", len(c.nodes)),
		"RAFT_JOIN="+strings.Join(raft, ","), "GO_PROFILING_DISABLE=true", "LOG_LEVEL=warning",
		"DISK_USE_READONLY_PERCENTAGE=99", "GOMEMLIMIT=4GiB")
	if len(running) > 0 {
		m.cmd.Env = append(m.cmd.Env, "CLUSTER_JOIN="+strings.Join(running, ","))
	}
	if err := m.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// Ready waits until machine i answers.
func (c *Cluster) Ready(i int) {
	c.t.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/v1/.well-known/ready", c.nodes[i].ports[0])
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
	}
	text, _ := os.ReadFile(c.nodes[i].log.Name())
	c.t.Fatalf("machine %d does not start: %s", i, text[max(0, len(text)-2000):])
}

// Kill ends machine i as a loss of power would.
func (c *Cluster) Kill(i int) {
	m := &c.nodes[i]
	if m.cmd == nil {
		return
	}
	m.cmd.Process.Kill()
	m.cmd.Wait()
	m.log.Close()
	m.cmd = nil
}

// PID returns the process of machine i.
func (c *Cluster) PID(i int) int { return c.nodes[i].cmd.Process.Pid }

// Dir returns the folder of machine i.
func (c *Cluster) Dir(i int) string { return filepath.Join(c.dir, fmt.Sprintf("data%d", i)) }

// URL returns the address of the cluster, with options.
func (c *Cluster) URL(options string) string {
	hosts := make([]string, len(c.nodes))
	for i, m := range c.nodes {
		hosts[i] = fmt.Sprintf("127.0.0.1:%d", m.ports[0])
	}
	return "weaviate://" + strings.Join(hosts, ",") + "?" + options
}
