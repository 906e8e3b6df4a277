// Package plan computes the needs of a collection on each engine: memory, disk, machines, hours. It
// multiplies constants that were measured on one machine with up to a million vectors. For larger
// collections its answers are computed, not measured. Every answer names its constants.
//
//	r, err := plan.Compute(plan.Load{Vectors: 1e9, Dim: 128, Queries: 100, Network: "resnet50-224"},
//		plan.Machine{Cores: 32, Memory: 256 << 30})
//
// The formulas, for n vectors of d numbers:
//
//   - bytes: n (row + value d). The bytes of a vector's number are known from the engine's
//     format, and the rest is measured.
//   - an exact search: n d times a constant. Machines share it.
//   - a walk through a graph: log2(n) d times a constant. Each of s machines that share the
//     vectors walks through its n/s. The formula assumes that ef and recall stay the same.
//   - writing an item: to a graph, as a walk; to a folder, a constant.
package plan

import (
	"fmt"
	"math"
)

// Load describes the size of a collection and its queries.
type Load struct {
	Vectors    float64 `json:"vectors"`
	Dim        int     `json:"dim"`
	Queries    float64 `json:"queries"` // per second
	Images     float64 `json:"images"`  // number of images to embed
	ImageBytes float64 `json:"image_bytes"`
	Network    string  `json:"network"` // network that embeds them, one of Networks
}

// Machine describes one of the available machines.
type Machine struct {
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory"` // bytes
}

// Constant is a measured number.
type Constant struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Command string  `json:"command"` // command that measured it
	Machine string  `json:"machine"` // machine of the measurement
}

// Report has the needs of a Load.
type Report struct {
	Load      Load       `json:"load"`
	Machine   Machine    `json:"machine"`
	Engines   []Answer   `json:"engines"`
	Embedding Embedding  `json:"embedding"`
	Points    []Point    `json:"measured"`
	Constants []Constant `json:"constants"`
}

// Answer has the needs of a Load on one engine, for one copy.
type Answer struct {
	Engine string  `json:"engine"`
	Disk   float64 `json:"disk"`   // bytes over all machines
	Memory float64 `json:"memory"` // bytes over all machines, so that searches do not wait for a disk
	// Machines is the larger of ByMemory and ByQueries.
	Machines  float64 `json:"machines"`
	ByMemory  float64 `json:"machines_by_memory"`
	ByQueries float64 `json:"machines_by_queries"`
	// Search is the time of one search on idle machines, without the network, in seconds.
	Search float64 `json:"search_seconds"`
	// Fill is the seconds of one core to write all vectors.
	Fill float64  `json:"fill_core_seconds"`
	From []string `json:"from"` // the constants used
	Note string   `json:"note"`
}

// Embedding has the needs of embedding the images of a Load.
type Embedding struct {
	Compute float64  `json:"network_core_seconds"`
	Decode  float64  `json:"decode_core_seconds"`
	Bytes   float64  `json:"bytes"`
	Stream  float64  `json:"object_store_seconds"` // seconds to read all images from one server
	Hours   float64  `json:"hours_of_a_machine"`
	From    []string `json:"from"`
}

// usableShare is the part of a machine's memory and time that the plan uses. The rest is for the
// system and for growth.
const usableShare = 0.75

// Bounds of a Load. Larger values make no sense and could overflow.
const (
	maxCount = 1e15
	maxDim   = 1 << 16
)

// Compute computes the needs of a Load on every engine. A Load or a Machine outside the bounds is an
// error.
func Compute(l Load, m Machine) (*Report, error) {
	for _, v := range []struct {
		name  string
		value float64
	}{{"vectors", l.Vectors}, {"queries", l.Queries}, {"images", l.Images}, {"image-bytes", l.ImageBytes}} {
		if !(v.value >= 0 && v.value <= maxCount) {
			return nil, fmt.Errorf("%s %g: want a number from 0 to %g", v.name, v.value, float64(maxCount))
		}
	}
	if l.Dim < 1 || l.Dim > maxDim {
		return nil, fmt.Errorf("dim %d: want a number from 1 to %d", l.Dim, maxDim)
	}
	if m.Cores < 1 || m.Cores > maxDim {
		return nil, fmt.Errorf("cores %d: want a number from 1 to %d", m.Cores, maxDim)
	}
	if !(m.Memory >= 1<<28 && m.Memory <= maxCount) {
		return nil, fmt.Errorf("memory-of-a-machine %g bytes: want 256 MiB or more, and %g bytes at most", m.Memory,
			float64(maxCount))
	}
	r := &Report{Load: l, Machine: m}
	if err := r.embed(); err != nil {
		return nil, err
	}
	for _, e := range engines() {
		r.Engines = append(r.Engines, e.answer(l, m))
		r.Constants = append(r.Constants, e.constants()...)
		r.Points = append(r.Points, e.compare()...)
	}
	return r, nil
}

func (r *Report) embed() error {
	l := r.Load
	network, err := networkConstant(l.Network)
	if err != nil {
		return err
	}
	decode, objects := decodeByte(), objectStore()
	e := Embedding{Compute: l.Images * network.Value, Bytes: l.Images * l.ImageBytes}
	e.Decode, e.Stream = e.Bytes*decode.Value, e.Bytes/objects.Value
	e.Hours = (e.Compute + e.Decode) / float64(r.Machine.Cores) / 3600
	for _, c := range []Constant{network, decode, objects} {
		e.From = append(e.From, c.Name)
		r.Constants = append(r.Constants, c)
	}
	r.Embedding = e
	return nil
}

func (e *engine) answer(l Load, m Machine) Answer {
	a := Answer{Engine: e.name, Note: e.note}
	for _, c := range e.constants() {
		a.From = append(a.From, c.Name)
	}
	if l.Vectors == 0 {
		return a
	}
	dim, cores := float64(l.Dim), float64(m.Cores)
	a.Disk, a.Memory = e.diskBytes(l.Vectors, dim), e.memoryBytes(l.Vectors, dim)
	a.ByMemory = math.Ceil(a.Memory / (usableShare * m.Memory))
	each := l.Vectors / a.ByMemory
	a.ByQueries = math.Ceil(l.Queries * a.ByMemory * e.searchSeconds(e.many, each, dim) / (usableShare * cores))
	a.Machines = max(a.ByMemory, a.ByQueries)
	a.Fill = l.Vectors * e.fillSeconds(each, dim)
	a.Search = e.searchSeconds(e.alone, each, dim) // a walk uses one core, on all machines at once
	if e.exact {
		a.Search = e.searchSeconds(e.alone, l.Vectors, dim) / (a.Machines * cores)
	}
	return a
}
