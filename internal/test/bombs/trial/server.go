package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	serverMemory = 512    // MiB
	alone, once  = 10, 40 // uploads one after another, and at once
)

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts a server, uploads a file, and prints what the server took.
func (t *trial) serve(ctx context.Context, file []byte) error {
	cmd := exec.Command(t.kindred, "serve", "photos.index", "--listen", "127.0.0.1:0", "--rate", "-1", "--read-only",
		"--memory", fmt.Sprintf("%dMiB", serverMemory), "--timeout", t.timeout.String(), "--log-format", "json")
	cmd.Dir = t.work
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go endRunaway(cmd.Process, ended)
	lines := bufio.NewReader(stderr)
	url := ""
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.Join(fmt.Errorf("the server does not listen: %w", err), cmd.Process.Kill(), cmd.Wait())
		}
		url = address.FindString(line)
	}
	drained := make(chan struct{})
	go func() { io.Copy(io.Discard, lines); close(drained) }()
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	c := client{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: once + 2}}}
	worst, err := startProbe(url)
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	begun := time.Now()
	answers := c.upload(ctx, file)
	took := time.Since(begun)
	delay, failed := worst()
	photo, photoTook := c.sound(t.photo)
	most := peakOf(cmd.Process.Pid)
	cmd.Process.Signal(os.Interrupt)
	stop := time.AfterFunc(15*time.Second, func() { cmd.Process.Kill() })
	<-drained
	err = cmd.Wait()
	stop.Stop()
	close(ended)
	if failed != nil {
		return failed
	}
	alive := "alive"
	if most == 0 || cmd.ProcessState.ExitCode() != 0 {
		alive = fmt.Sprint("ended: ", err)
	}
	fmt.Printf(" | %5d%s %5.1f%s %s, %s%s %4d%s %s in %.1f s%s", most>>20,
		t.mark(float64(most) > mostPeak*(serverMemory<<20)), took.Seconds(), t.mark(took > t.limit), answers, alive,
		t.mark(alive != "alive"), delay.Milliseconds(), t.mark(delay > mostDelay), photo, photoTook.Seconds(),
		t.mark(photo != "200"))
	return nil
}

// client sends requests to a server.
type client struct {
	url  string
	http *http.Client
}

// probe asks a server again and again whether it lives, until standard input ends. It prints a line when it has begun,
// and in the end the longest time that an answer took.
func probe(url string) {
	ask := func() {
		if r, err := http.Get(url + "/healthz"); err == nil {
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	}
	ask() // opens the connection
	fmt.Println("begun")
	ended := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
	for longest := time.Duration(0); ; {
		begun := time.Now()
		ask()
		longest = max(longest, time.Since(begun))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ended:
			fmt.Println(longest)
			return
		}
	}
}

// startProbe starts a process that probes a server. worst ends it, and returns the longest time that an answer took.
func startProbe(url string) (worst func() (time.Duration, error), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-probe", url)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("the probe: %w", err), cmd.Wait())
	}
	return func() (time.Duration, error) {
		stdin.Close()
		line, _ := lines.ReadString('\n')
		longest, err := time.ParseDuration(strings.TrimSpace(line))
		return longest, errors.Join(err, cmd.Wait())
	}, nil
}

// upload searches by a file, and returns the status codes of the answers with their numbers.
func (c *client) upload(ctx context.Context, file []byte) string {
	kind, body := form(file)
	var mu sync.Mutex
	counts := make(map[string]int)
	one := func() {
		code := c.search(ctx, kind, body)
		mu.Lock()
		defer mu.Unlock()
		counts[code]++
	}
	for range alone {
		one()
	}
	var all sync.WaitGroup
	for range once {
		all.Go(one)
	}
	all.Wait()
	var texts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s x%d", code, counts[code]))
	}
	return strings.Join(texts, " ")
}

// search returns the status code of a search by a picture, or what failed.
func (c *client) search(ctx context.Context, kind string, body []byte) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/search", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", kind)
	answer, err := c.http.Do(r)
	switch {
	case ctx.Err() != nil:
		return "late"
	case err != nil:
		return "none"
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	return fmt.Sprint(answer.StatusCode)
}

// sound searches by a sound photo.
func (c *client) sound(photo []byte) (code string, took time.Duration) {
	kind, body := form(photo)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return c.search(ctx, kind, body), time.Since(begun)
}

// form returns a form with a picture.
func form(file []byte) (kind string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	p, err := w.CreateFormFile("image", "photo")
	if err == nil {
		_, err = p.Write(file)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return w.FormDataContentType(), b.Bytes()
}
