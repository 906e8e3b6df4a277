package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// envAxe names the folder in which npm has installed axe-core: make wholes does.
const envAxe = "KINDRED_AXE"

// readAxe returns the script of axe-core, which looks for what people with disabilities cannot use; "" without it.
func readAxe(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(envAxe)
	if dir == "" {
		t.Logf("%s, a folder in which npm has installed axe-core, is not set: axe does not look at the pages", envAxe)
		return ""
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// checkAccessible fails the test for each violation that axe finds on the page.
func checkAccessible(c *chrome, axe string) {
	c.t.Helper()
	if axe == "" {
		return
	}
	if _, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](axe+"\ntrue")); err != nil {
		c.t.Fatalf("axe does not start: %.200v", err)
	}
	for _, violation := range eval[[]string](c, `axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 3).map(n =>
		"  " + n.html.slice(0, 150) + "\n    " + [...n.any, ...n.all, ...n.none].map(x => x.message).join("; ")).join("\n")))`) {
		c.t.Errorf("axe: %s", violation)
	}
}
