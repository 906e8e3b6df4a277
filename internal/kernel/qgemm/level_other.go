//go:build !amd64 || noasm

package qgemm

func detect() Level { return Generic }

func tileVector(*Tile) { panic(noVector) }

func blockSums(*Tile) { panic(noVector) }

func depthwiseVector(*Depthwise) { panic(noVector) }

func quantize([]uint8, []float32, float32, float32) { panic(noVector) }

func dequantize([]float32, []uint8, int32, float32) { panic(noVector) }

func larger([]uint8, []uint8) { panic(noVector) }

func columnSums([]int32, []uint8, int) { panic(noVector) }

const noVector = "qgemm: no vector unit"
