//! What the device is presented as, where that is not what it is: its user's choice, for applications that want
//! of a device what they do not need of it.

use vulkanalia_sys as vk;

/// How the device is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presented {
    /// Its type.
    pub(crate) ty: vk::PhysicalDeviceType,
    /// Whether it claims to have passed the conformance suite, without which some hide a device.
    pub(crate) is_conformant: bool,
    /// Whether it claims that its queues are for graphics, too. Commands of graphics are refused all the same.
    pub(crate) has_graphics: bool,
}

const TYPE: &str = "PHALANX_DEVICE_TYPE";
const CLAIM: &str = "PHALANX_CLAIM";

impl Presented {
    /// As the environment asks; where it does not, as it is, of its honest type.
    pub(crate) fn from_environment(honest: vk::PhysicalDeviceType) -> Result<Self, phalanx::Error> {
        let get = |name| std::env::var(name).unwrap_or_default();
        Self::new(honest, &get(TYPE), &get(CLAIM))
    }

    fn new(honest: vk::PhysicalDeviceType, ty: &str, claims: &str) -> Result<Self, phalanx::Error> {
        let fault = |name, expected: &str, found: &str| phalanx::Error::Setting {
            name,
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        let ty = type_of_name(ty, honest)
            .ok_or_else(|| fault(TYPE, "one of cpu, integrated, discrete, virtual", ty))?;
        let mut presented = Self { ty, is_conformant: false, has_graphics: false };
        for claim in claims.split(',').map(str::trim).filter(|claim| !claim.is_empty()) {
            match claim {
                "conformant" => presented.is_conformant = true,
                "graphics" => presented.has_graphics = true,
                _ => return Err(fault(CLAIM, "a list of conformant, graphics", claims)),
            }
        }
        Ok(presented)
    }
}

fn type_of_name(name: &str, honest: vk::PhysicalDeviceType) -> Option<vk::PhysicalDeviceType> {
    match name.trim() {
        "" => Some(honest),
        "cpu" => Some(vk::PhysicalDeviceType::CPU),
        "integrated" => Some(vk::PhysicalDeviceType::INTEGRATED_GPU),
        "discrete" => Some(vk::PhysicalDeviceType::DISCRETE_GPU),
        "virtual" => Some(vk::PhysicalDeviceType::VIRTUAL_GPU),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_honest_unless_asked_not_to_be() {
        for ty in [vk::PhysicalDeviceType::CPU, vk::PhysicalDeviceType::DISCRETE_GPU] {
            let honest = Presented { ty, is_conformant: false, has_graphics: false };
            assert_eq!(Presented::new(ty, "", "").ok(), Some(honest));
        }
        let found = Presented::new(vk::PhysicalDeviceType::CPU, "discrete", " graphics,conformant").unwrap();
        let ty = vk::PhysicalDeviceType::DISCRETE_GPU;
        assert_eq!(found, Presented { ty, is_conformant: true, has_graphics: true });
    }

    #[test]
    fn other_words_are_told_of() {
        let told =
            |ty, claims| Presented::new(vk::PhysicalDeviceType::CPU, ty, claims).unwrap_err().to_string();
        assert!(told("gpu", "").contains("PHALANX_DEVICE_TYPE"));
        assert!(told("", "graphics,speed").contains("PHALANX_CLAIM"));
    }
}
