//! Where a call runs.

use crate::error::{Result, fail};
use crate::params::Device;

/// A decision, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `Cpu` or `Cuda`, never `Auto`.
    pub device: Device,
    /// Why, for a person.
    pub reason: &'static str,
}

/// Decides from the device asked for and from whether the caller passed a stream of a device.
pub fn route(asked: Device, stream: bool) -> Result<Route> {
    match asked {
        Device::Cuda => fail!(Device, "device cuda; this build runs on the CPU only: ask for auto or cpu"),
        _ if stream => fail!(InvalidArgument, "a stream was given; it must be NULL for data in host memory"),
        Device::Cpu => Ok(Route { device: Device::Cpu, reason: "the CPU was asked for" }),
        Device::Auto => Ok(Route { device: Device::Cpu, reason: "the data is in host memory" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn host_data_runs_on_the_cpu() {
        for asked in [Device::Auto, Device::Cpu] {
            assert_eq!(route(asked, false).unwrap().device, Device::Cpu);
            assert_eq!(route(asked, true).unwrap_err().kind, Kind::InvalidArgument);
        }
        assert_eq!(route(Device::Cuda, false).unwrap_err().kind, Kind::Device);
    }
}
