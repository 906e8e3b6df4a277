//go:build linux || darwin

package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is the environment variable that names the file of the MPI library, where it is not
// where the system's loader looks, or not the first.
const Library = "KINDRED_MPI"

// handle is what the library knows a communicator or a type by: an address in Open MPI, a number
// in MPICH.
type handle uintptr

// library is an MPI library that has been loaded.
type library struct {
	name               string
	world, byte, float handle
	ignore             uintptr // MPI_STATUS_IGNORE

	initThread func(argc, argv uintptr, required int32, provided *int32) int32
	rank       func(comm handle, rank *int32) int32
	size       func(comm handle, size *int32) int32
	send       func(buf unsafe.Pointer, count int32, of handle, to, tag int32, comm handle) int32
	receive    func(buf unsafe.Pointer, count int32, of handle, from, tag int32, comm handle, status uintptr) int32
	broadcast  func(buf unsafe.Pointer, count int32, of handle, root int32, comm handle) int32
	gather     func(out unsafe.Pointer, outCount int32, outOf handle, in unsafe.Pointer, counts, places *int32,
		inOf handle, comm handle) int32
	abort    func(comm handle, code int32) int32
	finalize func() int32
}

// candidates are the files to try: those of the library whose launcher has started this process
// first, as its variables tell.
func candidates() []string {
	if path := os.Getenv(Library); path != "" {
		return []string{path}
	}
	open, mpich := []string{"libmpi.so.40", "libmpi.so.80"}, []string{"libmpich.so.12", "libmpi.so.12"}
	if runtime.GOOS == "darwin" {
		open, mpich = []string{"libmpi.40.dylib", "libmpi.dylib"}, []string{"libmpi.12.dylib"}
	}
	if os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && os.Getenv("PMI_SIZE") != "" {
		return append(mpich, open...)
	}
	return append(open, mpich...)
}

// load opens the first library that is there.
func load() (*library, error) {
	var lacks []string
	for _, name := range candidates() {
		file, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			lacks = append(lacks, err.Error())
			continue
		}
		return bind(name, file)
	}
	return nil, fmt.Errorf("no MPI library can be loaded (%s): install Open MPI or MPICH (Debian: openmpi-bin, or "+
		"mpich), or name its file with %s", strings.Join(lacks, "; "), Library)
}

// bind finds what is called in a library.
func bind(name string, file uintptr) (l *library, err error) {
	defer func() { // purego panics where a function is missing
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is not a known MPI library: %v", name, p)
		}
	}()
	l = &library{name: "MPICH", world: 0x44000000, byte: 0x4c00010d, float: 0x4c00040a, ignore: 1}
	if world, err := purego.Dlsym(file, "ompi_mpi_comm_world"); err == nil {
		of, err1 := purego.Dlsym(file, "ompi_mpi_byte")
		values, err2 := purego.Dlsym(file, "ompi_mpi_float")
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		l = &library{name: "Open MPI", world: handle(world), byte: handle(of), float: handle(values)}
	}
	for symbol, f := range map[string]any{
		"MPI_Init_thread": &l.initThread, "MPI_Comm_rank": &l.rank, "MPI_Comm_size": &l.size, "MPI_Send": &l.send,
		"MPI_Recv": &l.receive, "MPI_Bcast": &l.broadcast, "MPI_Allgatherv": &l.gather, "MPI_Abort": &l.abort,
		"MPI_Finalize": &l.finalize,
	} {
		purego.RegisterLibFunc(f, file, symbol)
	}
	return l, nil
}
