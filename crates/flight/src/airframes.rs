//! The names of airframes, vehicle types and estimators of PX4.

/// The values of the parameter `SYS_AUTOSTART` and the names of their airframes, from the
/// "Airframes Reference" of several releases of PX4. Values whose meaning changed between
/// releases are omitted.
const AIRFRAMES: &[(i64, &str)] = &[
    (1001, "HIL Quadcopter X"),
    (1002, "HIL Standard VTOL QuadPlane"),
    (2100, "Standard Plane"),
    (2106, "Applied Aeronautics Albatross"),
    (3000, "Generic Flying Wing"),
    (4001, "Generic Quadcopter"),
    (4014, "S500 Generic"),
    (4015, "Holybro S500"),
    (4016, "Holybro PX4 Vision"),
    (4017, "NXP HoverGames"),
    (4019, "Holybro X500 V2"),
    (4020, "Holybro PX4 Vision V1.5"),
    (4041, "BetaFPV Beta75X 2S Brushless Whoop"),
    (4050, "Generic 250 Racer"),
    (4052, "Holybro QAV250"),
    (4053, "Holybro Kopis 2"),
    (4061, "ATL Mantis EDU"),
    (4071, "UVify IFO"),
    (4500, "COEX Clover 4"),
    (4900, "Crazyflie 2"),
    (4901, "Crazyflie 2.1"),
    (5001, "Generic 10\" Quad + geometry"),
    (6001, "Generic Hexarotor x geometry"),
    (7001, "Generic Hexarotor + geometry"),
    (8001, "Generic Octocopter X geometry"),
    (9001, "Generic Octocopter + geometry"),
    (10015, "Team Blacksheep Discovery"),
    (10016, "3DR Iris Quadrotor"),
    (10018, "Team Blacksheep Discovery Endurance"),
    (11001, "Generic Hexarotor coaxial geometry"),
    (12001, "Generic 10\" Octo coaxial geometry"),
    (12002, "Steadidrone MAVRIK"),
    (13000, "Generic Standard VTOL"),
    (15001, "Esky (Big) Lama v4"),
    (16001, "Blade 130X"),
    (24001, "Generic Dodecarotor cox geometry"),
    (60000, "Vectored 6 DOF UUV"),
];

/// Returns the name of the airframe whose parameter `SYS_AUTOSTART` is `autostart`, if it is known.
pub fn airframe_name(autostart: i64) -> Option<&'static str> {
    let entry = AIRFRAMES.iter().find(|(id, _)| *id == autostart);
    entry.map(|(_, name)| *name)
}

/// Returns the name of the vehicle type `mav_type` (MAVLink, enumeration `MAV_TYPE`).
pub(crate) fn vehicle_type_name(mav_type: i64) -> Option<&'static str> {
    Some(match mav_type {
        1 => "fixed wing",
        2 => "quadrotor",
        3 => "coaxial helicopter",
        4 => "helicopter",
        7 => "airship",
        8 => "balloon",
        9 => "rocket",
        10 => "rover",
        11 => "boat",
        12 => "submarine",
        13 => "hexarotor",
        14 => "octorotor",
        15 => "tricopter",
        16 => "flapping wing",
        19 => "two-rotor tailsitter VTOL",
        20 => "four-rotor tailsitter VTOL",
        21 => "tiltrotor VTOL",
        22 => "standard VTOL",
        23 => "tailsitter VTOL",
        _ => return None,
    })
}

/// Returns the name of the estimator that the parameters `MAV_TYPE` and `SYS_MC_EST_GROUP` select
/// (pyulog, `PX4ULog.get_estimator`). Fixed wings always use EKF2. Releases without
/// `SYS_MC_EST_GROUP` have only EKF2.
pub(crate) fn estimator_name(
    mav_type: Option<i64>,
    estimator_group: Option<i64>,
) -> Option<&'static str> {
    // A log without a vehicle type is not the log of a vehicle.
    let mav_type = mav_type?;
    Some(match estimator_group {
        _ if mav_type == 1 => "EKF2",
        None | Some(2) => "EKF2",
        Some(0) => "INAV",
        Some(1) => "LPE",
        Some(3) => "Q",
        Some(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn airframe_ids_are_sorted_and_unique() {
        assert!(AIRFRAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(airframe_name(6001), Some("Generic Hexarotor x geometry"));
        assert_eq!(airframe_name(1), None);
    }

    #[test]
    fn fixed_wings_use_ekf2() {
        assert_eq!(estimator_name(Some(1), Some(1)), Some("EKF2"));
        assert_eq!(estimator_name(Some(2), Some(1)), Some("LPE"));
        assert_eq!(estimator_name(Some(2), None), Some("EKF2"));
        assert_eq!(estimator_name(None, None), None);
    }
}
