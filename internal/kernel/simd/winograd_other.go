//go:build (!amd64 && !arm64) || noasm

package simd

const noVectors = "simd: no vector unit"

func winoFilter(n, tap, to int, src, dst *float32) { panic(noVectors) }

func winoInput(n, c, row, pad, to int, src, dst *float32) { panic(noVectors) }

func winoGradient(n, c, row, pad, to int, src, dst *float32) { panic(noVectors) }

func winoOutput(n, c, from, row int, src, dst *float32) { panic(noVectors) }
