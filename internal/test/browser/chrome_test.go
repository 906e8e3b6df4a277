package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// chrome is a running browser with one tab.
type chrome struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	messages []string // messages of the console since the page was opened
}

// startChrome starts Chromium, or skips the test without Chromium.
func startChrome(t *testing.T) *chrome {
	t.Helper()
	if testing.Short() {
		t.Skip("opens pages in a browser, which takes a minute")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium: the pages are not opened in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update",
		"disable-sync", "enable-unsafe-swiftshader", "hide-scrollbars", "use-fake-device-for-media-stream",
		"use-fake-ui-for-media-stream"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(stop)
	ctx, stopBrowser := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stopBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	c := &chrome{t: t, ctx: ctx}
	log := chromedp.Console(ctx)
	go func() {
		for m, err := range log {
			if err != nil {
				return
			}
			// Software rendering warns about its own slowness.
			if m.Type == "log" || strings.Contains(m.Text, "GL Driver Message") {
				continue
			}
			c.mu.Lock()
			c.messages = append(c.messages, fmt.Sprintf("%s: %s", m.Type, m.Text))
			c.mu.Unlock()
		}
	}()
	// A page opened with ?flat finds no WebGL.
	c.runBefore(`if (location.search === "?flat") {
		const get = HTMLCanvasElement.prototype.getContext;
		HTMLCanvasElement.prototype.getContext = function(kind, ...more) {
			return kind.startsWith("webgl") ? null : get.call(this, kind, ...more);
		};
	}`)
	// A name that is run as a script would call alert.
	c.runBefore(`window.alert = () => { throw new Error("a name was run as a script"); }`)
	return c
}

func (c *chrome) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.t.Fatal(err)
	}
}

// runBefore runs a script on every page before the page's own.
func (c *chrome) runBefore(script string) {
	c.do(func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
}

// enableScripts turns the pages' scripts on or off.
func (c *chrome) enableScripts(on bool) {
	c.do(func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return chromedp.Void{}, err
	})
}

// enableTouch turns touch input on or off.
func (c *chrome) enableTouch(on bool) {
	c.do(func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, emulation.SetTouchEmulationEnabled,
			emulation.SetTouchEmulationEnabledParams{Enabled: on, MaxTouchPoints: 5})
		return chromedp.Void{}, err
	})
}

// open shows a file or an address in a window of the given width, light or dark.
func (c *chrome) open(path string, width int64, scheme string) {
	c.t.Helper()
	c.mu.Lock()
	c.messages = nil
	c.mu.Unlock()
	if filepath.IsAbs(path) {
		path = "file://" + path
	}
	c.do(func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return chromedp.Void{}, err
	}, chromedp.EmulateViewport(width, 900), chromedp.Navigate(path))
}

// eval runs an expression, which may be a promise, and decodes its value.
func eval[T any](c *chrome, expression string) T {
	c.t.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		c.t.Fatalf("%v in %s", err, expression)
	}
	return v
}

// waitUntil waits for an expression to be true.
func (c *chrome) waitUntil(expression string) {
	c.t.Helper()
	for range 300 { // half a minute: CI may be busy
		if eval[bool](c, "!!("+expression+")") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Errorf("never came true: %s", expression)
}

// checkQuiet fails the test if the console has messages.
func (c *chrome) checkQuiet() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages {
		c.t.Errorf("console: %s", m)
	}
}

// saveScreenshot writes a picture of the whole page, if KINDRED_SHOTS is set.
func (c *chrome) saveScreenshot(name string) {
	c.t.Helper()
	dir := os.Getenv("KINDRED_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		c.t.Fatal(err)
	}
}
