//go:build (!amd64 && !arm64) || noasm

package qgemm

const depthUnit = depthBlock

func detect() []Level { return nil }

func (*Tile) whole()           { panic(noVector) }
func (*Tile) prepare()         { panic(noVector) }
func (*Tile) blockSums(Level)  { panic(noVector) }
func (*Tile) storeEights()     { panic(noVector) }
func (*Depthwise) whole()      { panic(noVector) }
func (*Depthwise) unit(Level)  { panic(noVector) }
func (*Depthwise) eight(Level) { panic(noVector) }

func quantizeVector([]uint8, []float32, float32, float32) int { panic(noVector) }

func dequantizeVector([]float32, []uint8, int32, float32) int { panic(noVector) }

func (*Windows) vector([]uint8, []uint8) int { panic(noVector) }

func columnSumsVector([]int32, []uint8, int) int { panic(noVector) }

const noVector = "qgemm: no vector unit"
