package option

import "testing"

// TestInapplicable: a request reads the settings' names, a command its flags.
func TestInapplicable(t *testing.T) {
	for _, c := range []struct {
		err              InapplicableError
		request, command string
	}{
		{InapplicableError{Setting: "network", To: "an index", Reason: "it has one"},
			"network does not apply to an index: it has one", "--network does not apply to an index: it has one"},
		{InapplicableError{Setting: "data-dir", Needs: []string{"in"}, Reason: "no set"},
			"data-dir applies to in, which is missing: no set", "--data-dir applies to --in, which is missing: no set"},
		{InapplicableError{Setting: "force", Needs: []string{"check", "seen"}, Reason: "no file"},
			"force applies to check or seen, which is missing: no file",
			"--force applies to --check or --seen, which is missing: no file"},
	} {
		if got := c.err.Error(); got != c.request {
			t.Errorf("%q, want %q", got, c.request)
		}
		if got := Text(&c.err, func(setting string) string { return "--" + setting }); got != c.command {
			t.Errorf("%q, want %q", got, c.command)
		}
	}
}
