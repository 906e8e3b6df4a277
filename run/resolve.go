package run

import (
	"cmp"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/objective"
)

// resolve fills in what cfg leaves to the data, so that the configuration alone
// says all; newSampler does it for what it leaves to the classes.
func (c *Config) resolve(d *data.Dataset, o *objective.Options) {
	if d.Features != nil {
		c.Network.Name = cmp.Or(c.Network.Name, "mlp")
	} else {
		w, h, ch := d.Source.Shape()
		if d.Boxes != nil {
			w, h = 0, 0
		}
		c.Data.Channels = cmp.Or(c.Data.Channels, ch, 3)
		if c.Data.Size == 0 {
			c.Data.Size = usualSize(w, h, c.Data.Channels)
		}
		c.Data.Fit = cmp.Or(c.Data.Fit, fitFor(c.Data.Channels))
		name := "conv4"
		if c.Data.Size == 28 && c.Data.Channels == 1 {
			name = "mnist"
		}
		if !c.Network.own() {
			c.Network.Name = cmp.Or(c.Network.Name, name)
		}
	}
	c.Data.Pixels = cmp.Or(c.Data.Pixels, "unit")
	if !c.Network.pretrained() {
		c.Network.Dim = cmp.Or(c.Network.Dim, 128)
	}
	if c.Network.Normalize == Auto {
		c.Network.Normalize = On
		if c.Network.Dim > 0 && c.Network.Dim < 4 {
			c.Network.Normalize = Off
		}
	}
	c.Mine["positives"] = o.Mine.Positives.String()
	c.Mine["negatives"] = o.Mine.Negatives.String()
}

// fitFor says how images of so many channels are made square.
func fitFor(channels int) string {
	if channels == 3 {
		return "cover"
	}
	return "stretch"
}

// usualSize is the side that images are brought to unless the user says: their
// own if they are small and square, 40 for line drawings, 64 for photographs.
func usualSize(w, h, channels int) int {
	switch {
	case w == h && w > 0 && w <= 64:
		return w
	case channels == 1:
		return 40
	}
	return 64
}
