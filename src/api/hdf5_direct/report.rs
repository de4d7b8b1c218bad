//! What a transfer did, and which way it went.

/// How data went. The discriminants are those of `sleek_h5d_route`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Nothing was selected.
    Nothing = 0,
    /// `H5Dwrite` or `H5Dread`.
    Ordinary = 1,
    /// Chunks on the CPU's threads.
    Threads = 2,
    /// Chunks on the GPU.
    Gpu = 3,
}

/// What a transfer did.
pub struct Report {
    /// The way.
    pub route: Route,
    /// Device memory was copied to or from host memory as a whole.
    pub staged: bool,
    /// Why this way.
    pub reason: String,
    /// Chunks, and bytes of them in the file; 0 where HDF5 did the work.
    pub done: Done,
    /// Bytes of the selection in memory.
    pub bytes: usize,
}

/// Chunks written or read, and their bytes in the file.
#[derive(Clone, Copy, Default)]
pub struct Done {
    /// How many.
    pub chunks: u64,
    /// Bytes in the file.
    pub stored: u64,
}

impl Done {
    /// Both together.
    #[cfg(feature = "cuda")]
    pub fn with(self, other: Done) -> Done {
        Done { chunks: self.chunks + other.chunks, stored: self.stored + other.stored }
    }
}
