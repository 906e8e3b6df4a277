package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestPretrained starts a run with another embedding length from the weights of
// one that has ended: all but the embedding layer fit, and observers hear of it.
func TestPretrained(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs = 1
	dir := t.TempDir()
	first, err := Train(context.Background(), cfg, Options{Dir: filepath.Join(dir, "a"), Dataset: newBlobs(4, 12, 16)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Network.Pretrained = filepath.Join(dir, "a", nn.WeightsFile)
	cfg.Network.Dim = 5
	var got *zoo.ImportReport
	begin := func(s Setup) { got = s.Imported }
	tr, err := assemble(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16), Begin: begin})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range tr.net.Params() {
		if q := first.Net.Params()[i]; !strings.HasPrefix(p.Name, "fc.") && !slices.Equal(p.Value, q.Value) {
			t.Errorf("%s does not start from the file", p.Name)
		}
	}
	if _, err := (&trainer{built: tr}).start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got == nil || len(got.MisShaped) != 2 || len(got.Loaded) != len(tr.net.Params())-2 ||
		len(got.Missing)+len(got.Unexpected) != 0 {
		t.Errorf("report %+v", got)
	}
	cfg.Network.Pretrained = filepath.Join(dir, "none.pth")
	if _, err := assemble(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16)}); err == nil ||
		!strings.Contains(err.Error(), "network.pretrained") {
		t.Errorf("missing file: error %v", err)
	}
}
