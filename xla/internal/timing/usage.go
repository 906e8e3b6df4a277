package timing

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Usage is what nvidia-smi saw of all devices, twice a second.
type Usage struct {
	Name    string  `json:"name"`
	MiB     int     `json:"mib"`     // of memory, at most
	Percent float64 `json:"percent"` // of the time in which a device was busy, on average
}

// watch looks at the devices until it is ended.
type watch struct {
	stop func()
	seen chan *Usage
}

// look begins to look, if nvidia-smi is there.
func look(ctx context.Context) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{stop, make(chan *Usage, 1)}
	cmd := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=memory.used,utilization.gpu,name",
		"--format=csv,noheader,nounits", "--loop-ms=500")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.seen <- nil
		return w
	}
	go func() {
		u := usageIn(out)
		_ = cmd.Wait() // it was stopped
		w.seen <- u
	}()
	return w
}

func (w *watch) end() *Usage {
	w.stop()
	return <-w.seen
}

// usageIn reads lines of two numbers and the device's name. It returns nil without such a line.
func usageIn(r io.Reader) *Usage {
	var u Usage
	var sum float64
	lines := 0
	for in := bufio.NewScanner(r); in.Scan(); {
		var mib int
		var percent float64
		if _, err := fmt.Sscanf(strings.TrimSpace(in.Text()), "%d, %g,", &mib, &percent); err != nil {
			continue
		}
		u.Name = strings.TrimSpace(in.Text()[strings.LastIndex(in.Text(), ",")+1:])
		u.MiB, sum, lines = max(u.MiB, mib), sum+percent, lines+1
	}
	if lines == 0 {
		return nil
	}
	u.Percent = sum / float64(lines)
	return &u
}
