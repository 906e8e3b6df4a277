package isobmff

import "bytes"

// Colour is how luma and chroma become colours, and which, by the numbers of ITU-T H.273 or by a profile. A picture may
// have both.
type Colour struct {
	Known               bool // the numbers are there
	Primaries, Transfer uint8
	Matrix              int
	Full                bool   // the values span 0 to 255
	ICC                 []byte // the profile, or nil
}

// essential is set in the number of a property that a reader must know.
const essential = 1 << 15

// readProperties reads the box iprp: properties, and which items have them.
func (f *File) readProperties(x box) {
	container, ok := findBox(x.b, x.at, "ipco")
	if !ok {
		return
	}
	f.container = container
	for p := range boxes(container.b, 0) {
		if f.properties = append(f.properties, p.at-(len(p.whole)-len(p.b))); len(f.properties) == essential-1 {
			break
		}
	}
	for a := range boxes(x.b, x.at) {
		if a.name == "ipma" {
			f.readAssociations(a)
		}
	}
}

// propertyOf returns a property by its number, from 1.
func (f *File) propertyOf(number int) (box, bool) {
	if number < 1 || number > len(f.properties) {
		return box{}, false
	}
	for p := range boxes(f.container.b[f.properties[number-1]:], 0) {
		return p, true
	}
	return box{}, false
}

// readAssociations reads a box ipma. Of several entries of an item the first one counts.
func (f *File) readAssociations(x box) {
	c := x.cursor()
	version, flags := c.full()
	const wide = 1
	bytes := 1
	if flags&wide != 0 {
		bytes = 2
	}
	for n := c.int(4); n > 0 && !c.bad; n-- {
		it := f.items[uint32(c.uint(idWidth(version)))]
		k := c.int(1)
		if it == nil || it.associations != nil {
			c.skip(k * bytes)
			continue
		}
		for ; k > 0 && !c.bad; k-- {
			number := c.int(bytes)
			if bytes == 1 { // the highest bit says that it is essential
				number = number&0x7f | number>>7*essential
			}
			if p, ok := f.propertyOf(number &^ essential); ok && !c.bad {
				it.associations = append(it.associations, uint16(number))
				it.setProperty(p)
			}
		}
	}
}

// setProperty sets what a property says.
func (it *Item) setProperty(x box) {
	c := x.cursor()
	switch x.name {
	case "ispe":
		c.full()
		const most = 1 << 24 // more than any decoder takes
		if w, h := c.int(4), c.int(4); !c.bad && w < most && h < most {
			it.W, it.H = w, h
		}
	case "pixi":
		c.full()
		const most = 8 // channels
		for n := min(c.int(1), most); n > 0 && !c.bad; n-- {
			it.Bits = max(it.Bits, c.int(1))
		}
	case "av1C":
		const high, twelve = 1 << 6, 1 << 5
		c.uint(2)
		b := c.int(1)
		it.Across, it.Down = 1+b>>3&1, 1+b>>2&1
		switch {
		case b&high != 0 && b&twelve != 0:
			it.Bits = max(it.Bits, 12)
		case b&high != 0:
			it.Bits = max(it.Bits, 10)
		}
	case "hvcC":
		c.skip(16)
		chroma := c.int(1) & 3
		it.IsGrey = chroma == 0 && !c.bad
	case "colr":
		it.setColour(c)
	case "auxC":
		c.full()
		kind, _, _ := bytes.Cut(c.b, []byte{0})
		switch string(kind) {
		case "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", "urn:mpeg:hevc:2015:auxid:1":
			it.isAlpha = true
		}
	case "irot":
		// Quarter turns against the clock.
		if o := [4]int{1, 8, 3, 6}[c.int(1)&3]; o != 1 {
			it.addTurn(Turn{Orientation: o})
		}
	case "imir":
		// 0 exchanges top and bottom, 1 left and right.
		if o := [2]int{4, 2}[c.int(1)&1]; !c.bad {
			it.addTurn(Turn{Orientation: o})
		}
	case "clap":
		var v [8]int32
		for i := range v {
			v[i] = int32(c.uint(4))
		}
		if !c.bad {
			it.addTurn(Turn{Crop: Crop{Fraction{v[0], v[1]}, Fraction{v[2], v[3]}, Fraction{v[4], v[5]},
				Fraction{v[6], v[7]}}})
		}
	}
}

// setColour reads a box colr after its head.
func (it *Item) setColour(c *cursor) {
	kind := string(c.b[:min(4, len(c.b))])
	switch c.uint(4); kind {
	case "prof", "rICC":
		it.Colour.ICC = c.b
	case "nclx":
		primaries, transfer, matrix, full := c.int(2), c.int(2), c.int(2), c.int(1)
		if !c.bad {
			it.Colour = Colour{true, uint8(primaries), uint8(transfer), matrix, full>>7 == 1, it.Colour.ICC}
		}
	}
}

// addTurn adds a change. A picture has at most one of each kind.
func (it *Item) addTurn(t Turn) {
	if most := 3; len(it.Turns) < most {
		it.Turns = append(it.Turns, t)
	}
}
